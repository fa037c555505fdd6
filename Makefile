# footfall. `make run` needs Go alone; `make up` brings real Kafka and real Cassandra.
.DEFAULT_GOAL := help
.PHONY: help run up down test load faults bench lint vuln build chromium wrk

# The race detector needs a C compiler; without one the tests run all the same, except with CI=true.
RACE := $(if $(CI)$(shell command -v $${CC:-cc}),-race)

GOLANGCI := .tools/golangci-lint-2.13.2
GOVULNCHECK := .tools/govulncheck-1.8.0

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

run: ## everything in one process on http://127.0.0.1:8080, data under ./data
	@go build -o bin/embedded ./embedded
	@exec bin/embedded

up: ## real Kafka (127.0.0.1:9092) and Cassandra (127.0.0.1:9042), topics and schema included
	go run ./deployments/stackctl up

down: ## stop what `make up` started; data stays
	go run ./deployments/stackctl down

# Packages run one after the other: the suites on the real stack want the machine for themselves. Never from the cache: some
# tests build and run the product as a process, which the cache does not see. The suites that do little else run without the race
# detector: it would look at the judge, not at the product, takes minutes, and several times the memory that one of them bounds.
test: ## all tests; those on the real stack where Java and Maven, or a container engine, are there (CI=true: they must be)
	go run ./deployments/stackctl up --optional --bare
	go test $(RACE) -run '^$$' ./... > /dev/null
	go test $(RACE) -count=1 -p 1 -timeout 28m $$(go list ./... | grep -vE '/test/(e2e|faults)$$|^footfall/producer$$')
	go test -count=1 -p 1 -timeout 28m ./producer ./test/e2e ./test/faults
	go test -count=1 ./consumer/rollup -run 'TestSimulation|TestSmallWorlds' -sim.seeds 1000 -v

chromium: ## the browser that a test of the page script needs (Debian's, as root)
	@command -v chromium > /dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; }

wrk: ## the load generator that `make load` and a test need (Debian's, as root)
	@command -v wrk > /dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends wrk; }

load: ## 200 connections for 30 s and as many slow ones, against the door on the real Kafka of `make up`
	go test -count=1 -v ./test/e2e -run 'TestLoad$$' -load.for 30s

faults: ## break real Kafka, Cassandra and consumers in every way we know, and compare all counts (20 minutes)
	go test -count=1 -v -timeout 40m ./test/faults -faults.all

# SYNC=periodic: the consumers alone, on a Cassandra of its own with that commitlog_sync.
bench: ## speed beside others on the stack of `make up`, into docs/benchmarks.md (20 minutes, and the machine for itself)
	@go build -o bin/bench ./test/bench
	bin/bench $(if $(SYNC),-sync $(SYNC) -o docs/benchmarks-$(SYNC).md,-o docs/benchmarks.md)

lint: $(GOLANGCI) ## formatting and static checks
	@test -z "$$(gofmt -l .)" || { gofmt -l . ; echo "run gofmt -w on these"; exit 1; }
	$(GOLANGCI) run ./...

$(GOLANGCI):
	@echo "building golangci-lint (once, a few minutes)"
	@GOBIN=$(CURDIR)/.tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.13.2
	@mv .tools/golangci-lint $@

# Says NOT CHECKED where the tool or its database cannot be had: a check that depends on others' servers must not be red without a finding.
vuln: ## modules as go.sum has them, and known vulnerabilities of what we call
	go mod verify
	@test -x $(GOVULNCHECK) || { GOBIN=$(CURDIR)/.tools go install golang.org/x/vuln/cmd/govulncheck@v1.8.0 && mv .tools/govulncheck $(GOVULNCHECK); } || true
	@bash deployments/vuln.sh $(GOVULNCHECK)

build: ## the binaries, into ./bin
	CGO_ENABLED=0 go build -trimpath -o bin/ ./producer ./consumer ./embedded ./simulator
