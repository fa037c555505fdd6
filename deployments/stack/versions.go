package stack

// The versions the launcher fetches. docker-compose.yml pins the same ones; a
// test in deployments compares them.
const (
	KafkaVersion     = "4.3.1"
	CassandraVersion = "5.0.6"
)
