package main

const usage = `Usage: simulator [-hV] -f=<from> -g=<numGuids> -n=<numSamples> -s=<siteId> -t=<to>
                 -p=<landingPages>... [-p=<landingPages>...]...
                 -r=<referers>... [-r=<referers>...]...
                 [--send=<url>] [--verify] ...
       simulator demo <embedded>
Makes up visits of a site. Writes them as CSV, and the counts as tables of text.
demo starts the binary of one process with the last 75 days of a shop (make demo).

  -f, --from=<from>        A 'yyyy-MM-dd' formatted date representing the date from
                             which the random timestamps should start (UTC)
  -g, --num_guids=<numGuids>
                           The number of random guids to select from
  -h, --help               Show this help message and exit.
  -n, --num_samples=<numSamples>
                           The number of samples to generate
  -p, --landing_pages=<landingPages>...
                           A list of landing pages: the values of the second feature
  -r, --referers=<referers>...
                           A list of referers: the values of the first feature
  -s, --site_id=<siteId>   Provide a sample site id
  -t, --to=<to>            A 'yyyy-MM-dd' formatted date representing the date when
                             the random timestamps should stop
  -V, --version            Print version information and exit.

What is made up:
  --features=<feature>...  The features, 1 to 6: their number, or their names. From the
                             third on with their values, as name=value,value; without
                             values, some are made up. Default: feature1 feature2
  --zipf=<s>               Draw visitors, pages and links by Zipf's law: the k-th with a
                             weight of 1/k^s; s must be above 1. Default: all alike
  --clicks=<numClicks>     Clicks on short links as well, by visitors with an IP each
  --links=<shortUrl>...    Their links. Default: five, named after the site
  --countries=<code>...    Their countries. Default: IT DE US FR BR
  --seed=<seed>            A number: the same options with the same seed make the same
                             visits, with the same ids. Default: random, and printed
  --out=<dir>              Where to write the files. Default: simulated

A running footfall:
  --send=<url>             Send the events to this producer, such as
                             http://127.0.0.1:8080. An id sent twice is counted once
  --key=<writeKey>         A write key for the producer, if it wants one
  --rate=<n>               Events per second. Default: as fast as the producer takes them
  --verify                 Wait until all is counted, then compare every row of the
                             store with the tables; exit 1 if they differ. The site and
                             the links must have had no other events. Scans the tables
                             of sites: not for a store that is large and in use
  --store=<store>          cassandra (at FOOTFALL_CASSANDRA_HOSTS, _PORT, ...), or
                             embedded (the files in FOOTFALL_DATA_DIR). Default: embedded
                             if its files are there, else cassandra
  --metrics=<metric>...    The metrics that the store keeps. Default: all
  --wait=<duration>        How long to wait for the counts. Default: 1m
`
