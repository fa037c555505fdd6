import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.date_trunc;
import static org.apache.spark.sql.functions.from_json;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.timestamp_millis;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.storage.StorageLevel;

/**
 * Counts clicks with Spark Structured Streaming and the Cassandra connector: each batch of the stream is summed and added to the counters, and who is
 * new is asked of the table of visitors. Spark promises each batch at least once, and a counter cannot tell which batches it has. It goes on where its checkpoint says, and ends with the topic, when it
 * prints what it took. Its one argument is a task of the bench (../../../../child.go).
 */
public class Rival {
    private static final String CASSANDRA = "org.apache.spark.sql.cassandra";

    private final JsonNode task;
    private final SparkSession spark;
    private long counted, begun, cpu;

    public static void main(String[] args) {
        int code = 1;
        try {
            new Rival(new ObjectMapper().readTree(args[0])).run();
            code = 0;
        } catch (Exception e) {
            e.printStackTrace();
        }
        System.exit(code); // Spark has threads of its own
    }

    /**
     * The settings are the best of those that were tried on two processors. With all tables written at once Cassandra ran out of time, and the query
     * ended: the connector sends no batch again.
     */
    private Rival(JsonNode task) {
        this.task = task;
        int cores = Runtime.getRuntime().availableProcessors();
        spark = SparkSession.builder().master("local[" + cores + "]").appName("rival")
            .config("spark.ui.enabled", false)
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.local.dir", task.get("Scratch").asText())
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", cores)
            .config("spark.sql.extensions", "com.datastax.spark.connector.CassandraSparkExtensions")
            .config("spark.cassandra.connection.host", task.get("Host").asText())
            .config("spark.cassandra.connection.port", task.get("Port").asInt())
            .config("spark.cassandra.concurrent.reads", 256)
            .config("spark.cassandra.output.batch.grouping.key", "none")
            .config("spark.cassandra.output.concurrent.writes", 64)
            .getOrCreate();
        spark.sparkContext().setLogLevel("ERROR");
    }

    private void run() throws Exception {
        if (!task.get("Warm").asText().isEmpty()) { // Java compiles as it runs
            stream(task.get("Warm").asText());
            System.out.println(true);
            System.in.read(); // until these tables are gone
        }
        stream(task.get("Suffix").asText());
        System.out.println(new ObjectMapper().writeValueAsString(
            Map.of("Events", counted, "Seconds", (System.nanoTime() - begun) / 1e9, "CPU", (processorTime() - cpu) / 1e9, "Peak", peak())));
    }

    /** Counts what is in the topic, from where the checkpoint says. */
    private void stream(String suffix) throws Exception {
        counted = begun = 0;
        spark.readStream().format("kafka")
            .option("kafka.bootstrap.servers", task.get("Broker").asText())
            .option("subscribe", task.get("Topic").asText())
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", 110_000)
            .load()
            .select(from_json(col("value").cast("string"), "short_url STRING, ip STRING, country STRING, referrer STRING, ts BIGINT", Map.of()).as("click"))
            .select("click.*")
            .writeStream().trigger(Trigger.AvailableNow())
            .option("checkpointLocation", Path.of(task.get("Scratch").asText(), "checkpoint" + suffix).toString())
            .foreachBatch((clicks, id) -> {
                if (begun == 0) {
                    begun = System.nanoTime();
                    cpu = processorTime();
                }
                counted += write(clicks, suffix);
            })
            .start().awaitTermination();
    }

    private static long write(Dataset<Row> clicks, String suffix) {
        Column at = timestamp_millis(col("ts"));
        Dataset<Row> batch = clicks.select(col("short_url"), col("ip"), coalesce(col("country"), lit("ZZ")).as("country"),
            coalesce(col("referrer"), lit("")).as("referrer"), date_trunc("hour", at).as("hour"), date_trunc("day", at).as("day"));
        batch = batch.repartition(col("short_url")).persist(StorageLevel.MEMORY_AND_DISK()); // which all that follows needs
        add(batch, suffix, "clickcounter");
        add(batch, suffix, "hourcounters", "hour");
        add(batch, suffix, "daycounters", "day");
        add(batch, suffix, "countrycounters", "country");
        add(batch, suffix, "referrercounters", "referrer");
        Dataset<Row> known = batch.sparkSession().read().format(CASSANDRA).options(table(suffix, "uniquecounterips")).option("directJoinSetting", "on").load()
            .select(col("short_url").as("link"), col("ip").as("address"));
        Dataset<Row> who = batch.select("short_url", "ip").distinct();
        Dataset<Row> first = who.join(known, who.col("short_url").equalTo(known.col("link")).and(who.col("ip").equalTo(known.col("address"))), "left")
            .where(col("address").isNull()).select("short_url", "ip").persist(StorageLevel.MEMORY_AND_DISK());
        save(first.select(col("short_url"), col("ip"), lit("clicks").as("topic"), lit(0).as("kafka_partition"), lit(0L).as("kafka_offset")),
            suffix, "uniquecounterips", 20); // with 200 a Cassandra that has just started runs out of its two seconds for a write
        add(first, suffix, "uniquecounter");
        first.unpersist();
        long events = batch.count();
        batch.unpersist();
        return events;
    }

    /** Adds to the counters of a table how many rows there are of each link, and of each value of another column. */
    private static void add(Dataset<Row> rows, String suffix, String table, String... columns) {
        Dataset<Row> sums = rows.groupBy("short_url", columns).agg(count(lit(1)).as("value"));
        save(sums, suffix, table, 200);
    }

    /** Rows of a link come one after the other, so that Cassandra writes them as one. */
    private static void save(Dataset<Row> rows, String suffix, String table, int ofRequest) {
        rows.sortWithinPartitions("short_url").write().format(CASSANDRA).options(table(suffix, table)).mode("append")
            .option("spark.cassandra.output.batch.size.rows", ofRequest).save();
    }

    private static Map<String, String> table(String suffix, String name) {
        return Map.of("keyspace", "urlshortener" + suffix, "table", name);
    }

    private static long processorTime() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private static long peak() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        return 0;
    }
}
