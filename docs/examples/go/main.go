// A memory system for Recall Bench in Go: it answers with the line that shares
// most words with the question. Replace the four methods in the middle.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc"

	pb "example.org/memory/pb"
)

type memory struct {
	pb.UnimplementedMemoryBenchServiceServer
	lock  sync.Mutex
	lines []string
}

func (m *memory) Healthcheck(context.Context, *pb.HealthcheckRequest) (*pb.HealthcheckResponse, error) {
	return &pb.HealthcheckResponse{Name: "go-lines", Ready: true}, nil
}

// Setup must leave no memory of anything before.
func (m *memory) Setup(context.Context, *pb.SetupRequest) (*pb.SetupResponse, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.lines = nil
	return &pb.SetupResponse{}, nil
}

func (m *memory) IngestDay(_ context.Context, day *pb.IngestDayRequest) (*pb.IngestDayResponse, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.lines = append(m.lines, strings.Split(day.GetContent(), "\n")...)
	return &pb.IngestDayResponse{}, nil
}

// FinalizeIngestion comes at every checkpoint: return once everything can be asked about.
func (m *memory) FinalizeIngestion(context.Context, *pb.FinalizeIngestionRequest) (*pb.FinalizeIngestionResponse, error) {
	return &pb.FinalizeIngestionResponse{}, nil
}

// Query may be called concurrently. Return an error when something fails: an apology would be graded.
func (m *memory) Query(_ context.Context, asked *pb.QueryRequest) (*pb.QueryResponse, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	wanted := words(asked.GetQuestion())
	best, most := "There is no record of that.", 0
	for _, line := range m.lines {
		shared := 0
		for word := range words(line) {
			if wanted[word] {
				shared++
			}
		}
		if shared > most {
			best, most = line, shared
		}
	}
	return &pb.QueryResponse{Answer: best}, nil
}

func (m *memory) Teardown(context.Context, *pb.TeardownRequest) (*pb.TeardownResponse, error) {
	return &pb.TeardownResponse{}, nil
}

func words(text string) map[string]bool {
	found := map[string]bool{}
	for _, word := range strings.Fields(strings.ToLower(text)) {
		found[strings.Trim(word, ".,;:!?")] = true
	}
	return found
}

func main() {
	address := "127.0.0.1:50052"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	pb.RegisterMemoryBenchServiceServer(server, &memory{})
	fmt.Println("listening on", listener.Addr())
	log.Fatal(server.Serve(listener))
}
