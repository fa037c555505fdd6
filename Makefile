# footfall. `make run` needs Go alone; `make up` brings real Kafka and real Cassandra.
.DEFAULT_GOAL := help
.PHONY: help run demo up down unit test test-all packages-on-stack packages-alone suites seeds load look faults breaks nightly bench bench-live lint vuln build release chromium wrk prometheus dashboards k8s kubernetes-validate

# The race detector is for everything (test-all). It needs a C compiler; without one the tests run all the same, except with CI=true.
RACE := $(if $(filter test-all,$(MAKECMDGOALS)),$(if $(CI)$(shell command -v $${CC:-cc}),-race))

# Tests that start, pause and kill servers of their own take minutes: only test-all runs them.
SERVERS := $(if $(filter test-all,$(MAKECMDGOALS)),,FOOTFALL_TEST_SERVERS=shared)

# All packages but the suites of whole processes, which `test` and `test-all` divide between them: those whose tests use the real stack, and the others.
SUITES := /test/(e2e|faults)$$|^footfall/producer$$
ON_STACK = $$(go list -test -f '{{.ImportPath}} {{.Deps}}' ./... | sed -n 's/[.]test .*[/]stack[/]stacktest[] ].*//p' | grep -vE '$(SUITES)')
ALONE = $$(go list ./... | grep -vE '$(SUITES)' | grep -vxF "$(ON_STACK)")

# Bounds on memory, which say nothing under the race detector and take minutes there, and the packages that have one.
MEMORY := TakeLittleMemory$$
BOUNDED = $$(grep -ls 'TakeLittleMemory(t ' $$(go list -f '{{.Dir}}/*_test.go' ./... | grep -v /test/e2e/) | xargs -n 1 dirname | sort -u)

# The part of the end-to-end suite that `test` runs; `test-all` runs the rest.
SMOKE := ^(TestTheSameIDCountsOnce|TestCountIsVisibleWithinTwoSeconds|TestTheKeyOfTheDocumentation|TestParseTables|TestQueriesOnTheOracle)$$

# Of the producer's process: beside hostile tenants, which takes minutes.
HOSTILE := ^TestHostileTenants

# Of the simulation: its controls, which take minutes; `test-all` plays them with everything else of it.
CONTROLS := ^(TestSimulationSees|TestSmallWorldsSee)$$

GOLANGCI := .tools/golangci-lint-2.13.2
GOVULNCHECK := .tools/govulncheck-1.8.0
VALIDATE := .tools/kubernetes-validate-1.37.0

# The chart's tests are a module of their own, which needs Helm and Kubernetes' types.
CHART := deployments/helm/check

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

run: ## everything in one process: events to http://127.0.0.1:8080, pages on http://127.0.0.1:8082, data under ./data
	@bash deployments/compile.sh bin/embedded ./embedded
	@exec bin/embedded

demo: ## the same, and the simulator sends it the last weeks of a made-up shop and keeps sending; Ctrl-C ends it and removes its data
	@bash deployments/compile.sh bin/embedded ./embedded
	@bash deployments/compile.sh bin/simulator ./simulator
	@exec bin/simulator demo bin/embedded

up: ## real Kafka (127.0.0.1:9092) and Cassandra (127.0.0.1:9042), topics and schema included
	go run ./deployments/stackctl up

down: ## stop what `make up` started; data stays
	go run ./deployments/stackctl down

# Four packages and six tests of each at once: many of these tests wait more than they work.
unit: ## tests without servers, in less than a minute
	go test -short -p 4 -parallel 6 $$(go list ./... | grep -vE '/test/(e2e|faults)$$')

# go list compiles packages and tests before the first one runs. It links nothing, since go test links again anyway.
# Packages on the real stack run one after the other, and so do the others beside them. Never from the cache: some
# tests build and run the product as a process, which the cache does not see. The suites that do little else run without the race
# detector: it would look at the judge, not at the product, takes minutes, and several times the memory that one of them bounds.
test: ## all packages and a part of the end-to-end suite; on the real stack where it can be had (CI=true: it must be); 15 minutes
	go run ./deployments/stackctl up --optional --bare
	go list $(RACE) -export -test ./... > /dev/null
	@$(MAKE) --no-print-directory --jobs=2 packages-on-stack packages-alone RACE='$(RACE)' SERVERS='$(SERVERS)'
	go test -count=1 -p 1 -run '$(MEMORY)' $(BOUNDED)
	go test -count=1 -run '^(TestLargeLog|TestHostileClients)$$' ./embedded
	go test -count=1 -timeout 10m -skip '$(HOSTILE)' ./producer
	go test -count=1 -timeout 10m -run '$(SMOKE)' ./test/e2e
	cd $(CHART) && go test -count=1 ./...

packages-on-stack:
	$(SERVERS) go test $(RACE) -count=1 -p 1 -timeout 28m -skip '$(CONTROLS)' $(ON_STACK)

packages-alone:
	$(SERVERS) go test $(RACE) -count=1 -p 1 -timeout 28m -skip '$(MEMORY)' $(ALONE)

# `make test test-all` runs each part once. The simulation has a clock of its own, so it takes what the suites of processes leave.
test-all: test ## all tests: `test` with the race detector, then the rest of the suites, the faults' short form, and 1,000 seeds (40 minutes)
	go test -count=1 -timeout 10m -run '$(HOSTILE)' ./producer
	$(MAKE) --no-print-directory --jobs=2 suites seeds

suites:
	go test -count=1 -timeout 40m -skip '$(SMOKE)' ./test/e2e
	go test -count=1 -timeout 28m ./test/faults

seeds:
	nice -n 19 go test -count=1 -timeout 40m ./consumer/rollup -run 'TestSimulation|TestSmallWorlds|TestFootprint' -sim.seeds 1000 -v

chromium: ## the browser that a test of the page script needs (Debian's, as root)
	@command -v chromium > /dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; }

wrk: ## the load generator that `make load` and a test need (Debian's, as root)
	@command -v wrk > /dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends wrk; }

# Debian starts a service that it installs, unless policy-rc.d forbids it.
POLICY := /usr/sbin/policy-rc.d
prometheus: ## Prometheus, promtool and amtool, which tests of metrics, rules and dashboards need (Debian's, as root; no service is started)
	@command -v promtool > /dev/null && command -v amtool > /dev/null || { apt-get update -q && \
		{ test -e $(POLICY) || { trap 'rm -f $(POLICY)' EXIT; printf '#!/bin/sh\nexit 101\n' > $(POLICY); chmod +x $(POLICY); }; } && \
		apt-get install -y -q --no-install-recommends prometheus prometheus-alertmanager; }

dashboards: ## the dashboard for Grafana, from its source in deployments/monitoring
	go run ./deployments/monitoring/generate

k8s: ## the plain manifests in deployments/k8s, from the Helm chart
	cd $(CHART) && go run ./generate

# The file is written last, so that an installation that was interrupted is made again.
kubernetes-validate: $(VALIDATE)/done ## the schemas of several versions of Kubernetes, which tests of the chart need (Python's, from PyPI)
$(VALIDATE)/done:
	@python3 -m venv $(VALIDATE) && $(VALIDATE)/bin/pip install --quiet --disable-pip-version-check -r $(CHART)/requirements.txt && touch $@

load: ## 200 connections for 30 s and as many slow ones, against the producer on the real Kafka of `make up`
	go test -count=1 -v ./test/e2e -run 'TestLoad$$' -load.for 30s

look: ## the pages at 50 requests a second for 60 s, while 1,000 events a second are counted on the real stack of `make up`
	go test -count=1 -v ./test/e2e -run 'TestLook$$' -look.for 60s

faults: ## break real Kafka, Cassandra and consumers in every way we know, and compare all counts (30 to 40 minutes)
	go test -count=1 -v -timeout 60m ./test/faults -faults.all

# ONLY=7, or a word of the list: some of them. Those that need the stack of `make up` are left out where it does not answer.
breaks: ## break one line of the product after the other, and demand that a test finds each (test/breaks/list.txt)
	@go run ./test/breaks $(ONLY)

nightly: ## what CI runs and what it leaves out, into docs/nightly.md (four hours, and the machine for itself)
	bash test/nightly.sh

# SYNC=periodic: the consumers alone, on a Cassandra of its own with that commitlog_sync.
# BEFORE=0d06799: this footfall beside that of a commit (or a directory), in turns: prints ratios (12 minutes).
# FLAGS='-sides usual,sink,footfall -o bench.md': some of the sides, as without Maven, into another file (bin/bench -help).
bench: ## speed beside others on the stack of `make up`, into docs/benchmarks.md (half an hour, and the machine for itself; Maven fetches Spark)
	@go build -o bin/bench ./test/bench
	bin/bench $(if $(BEFORE),-before $(BEFORE),$(if $(SYNC),-sync $(SYNC) -o docs/benchmarks-$(SYNC).md,-o docs/benchmarks.md)) $(FLAGS)

# BEFORE=0a863e8: beside the footfall of a commit (or a directory), step by step in turns. ONLY=live: visits one by one and nothing else. More
# flags in FLAGS, such as FLAGS='-hold 10m -rate 2000' (bin/bench -help).
bench-live: ONLY ?= singles,live,livebatches,liveclicks
bench-live: ## the rate of live traffic that is held, on the stack of `make up`, into docs/benchmarks-live.md (45 minutes; 90 with BEFORE)
	@go build -o bin/bench ./test/bench
	bin/bench -only $(ONLY) $(if $(BEFORE),-before $(BEFORE)) $(FLAGS) -o docs/benchmarks-live.md

lint: $(GOLANGCI) ## formatting and static checks
	@test -z "$$(gofmt -l .)" || { gofmt -l . ; echo "run gofmt -w on these"; exit 1; }
	$(GOLANGCI) run ./...
	cd $(CHART) && $(CURDIR)/$(GOLANGCI) run ./...

$(GOLANGCI):
	@echo "building golangci-lint (once, a few minutes)"
	@GOBIN=$(CURDIR)/.tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.13.2
	@mv .tools/golangci-lint $@

# Says NOT CHECKED where the tool or its database cannot be had: a check that depends on others' servers must not be red without a finding.
vuln: ## modules as go.sum has them, and known vulnerabilities of what we call
	go mod verify
	@test -x $(GOVULNCHECK) || { GOBIN=$(CURDIR)/.tools go install golang.org/x/vuln/cmd/govulncheck@v1.8.0 && mv .tools/govulncheck $(GOVULNCHECK); } || true
	@bash deployments/vuln.sh $(GOVULNCHECK)

# As `go run` compiles, so that nothing is compiled twice.
build: ## the binaries, into ./bin
	go build -o bin/ ./producer ./consumer ./reader ./embedded ./simulator

# Static: they run on any kernel, without a C library. What --version says is the tag or commit of the sources.
# Not of sources whose exactness and speed were measured with older ones.
release: ## static binaries for linux and macOS on amd64 and arm64, with SHA256SUMS, into ./dist
	@bash test/nightly.sh --evidence || [ '$(EVIDENCE)' = old ] || { echo 'Figures are of older code. Measure those again (each page says how), or say EVIDENCE=old.'; exit 1; }
	rm -rf dist && mkdir dist
	for os in linux darwin; do for arch in amd64 arm64; do for name in producer consumer reader embedded simulator; do \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -buildvcs=true -o dist/footfall-$$name-$$os-$$arch ./$$name || exit 1; \
	done; done; done
	cd dist && sha256sum footfall-* > SHA256SUMS
