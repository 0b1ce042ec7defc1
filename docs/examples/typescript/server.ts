// A memory system for Recall Bench in TypeScript: it answers with the line that
// shares most words with the question. Replace the four methods in the middle.
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const [proto = "memory_bench.proto", address = "127.0.0.1:50052"] = process.argv.slice(2);

let lines: string[] = [];

const words = (text: string): Set<string> =>
  new Set(text.toLowerCase().split(/\s+/).map((word) => word.replace(/^[.,;:!?]+|[.,;:!?]+$/g, "")));

function answer(question: string): string {
  const wanted = words(question);
  let best = "There is no record of that.";
  let most = 0;
  for (const line of lines) {
    const shared = [...words(line)].filter((word) => wanted.has(word)).length;
    if (shared > most) [best, most] = [line, shared];
  }
  return best;
}

type Call<T> = grpc.ServerUnaryCall<T, unknown>;
type Reply = grpc.sendUnaryData<unknown>;

const service: grpc.UntypedServiceImplementation = {
  Healthcheck: (_: Call<object>, reply: Reply) => reply(null, { name: "ts-lines", ready: true }),

  // Must leave no memory of anything before.
  Setup: (_: Call<object>, reply: Reply) => {
    lines = [];
    reply(null, {});
  },

  IngestDay: (call: Call<{ content: string }>, reply: Reply) => {
    lines.push(...call.request.content.split("\n"));
    reply(null, {});
  },

  // Comes at every checkpoint: reply once everything can be asked about.
  FinalizeIngestion: (_: Call<object>, reply: Reply) => reply(null, {}),

  // May be called concurrently. Reply with an error when something fails: an apology would be graded.
  Query: (call: Call<{ question: string }>, reply: Reply) =>
    reply(null, { answer: answer(call.request.question) }),

  Teardown: (_: Call<object>, reply: Reply) => reply(null, {}),
};

const loaded = grpc.loadPackageDefinition(loadSync(proto, { keepCase: true })) as any;
const server = new grpc.Server({ "grpc.max_receive_message_length": 64 << 20 });
server.addService(loaded.recall.bench.MemoryBenchService.service, service);
server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(`listening on port ${port}`);
});
