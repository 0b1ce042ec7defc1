# Recall Bench as a command: docker build -t recall-bench . && docker run --rm -v "$PWD:/work" recall-bench run
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
# Which systems it can reach and measure: pip's names of the extras, such as http,grpc,llm.
ARG EXTRAS=http
COPY constraints.txt /tmp/constraints.txt
# The wheel is mounted, not copied: it leaves no layer behind.
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --constraint /tmp/constraints.txt "$(echo /wheels/*.whl)[${EXTRAS}]"
RUN useradd --uid 10001 --create-home bench && install --directory --owner=bench /work
# Built personas; /tmp, because `docker run --user` may be anybody.
ENV RECALL_BENCH_CACHE=/tmp/recall-bench
USER bench
WORKDIR /work
ENTRYPOINT ["recall-bench"]
CMD ["--help"]
