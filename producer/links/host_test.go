package links

import (
	"net/http"
	"net/url"
	"testing"
	"time"
)

// spellings are texts that browsers take for the same host. The first is the one that they request.
var spellings = [][]string{
	{"127.0.0.1", "2130706433", "0x7f000001", "0X7F.0.0.1", "0177.0.0.1", "127.1", "127.0.1", "0x7f.1", "017700000001", "127.0.0.1.",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:FFFF:7F00:0001]", "１２７.0.0.1", "127。0。0。1", "127．0．0．1", "%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1", "0x7f.0x0.0x.1"},
	{"[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::0.0.0.1]"},
	{"sho.rt", "SHO.RT", "sho.rt.", "ｓｈｏ.rt", "sho。rt", "sh\u00ado.rt", "%EF%BD%93ho.rt", "sho．rt"},
	{"xn--bcher-kva.example", "bücher.example", "BÜCHER.example", "b%C3%BCcher.example", "bu\u0308cher.example"},
}

// TestHostsInOddSpellings: a browser understands many spellings of an address, and a link to the producer in any of them would be a loop.
func TestHostsInOddSpellings(t *testing.T) {
	for _, all := range spellings {
		for _, spelt := range all {
			for _, at := range []string{"http://" + spelt + "/abc", "https://" + spelt + ":443/abc", "http://" + spelt + ":080/abc"} {
				u, err := url.Parse(at)
				if err != nil {
					t.Fatal(err)
				}
				if err := checkTarget(at); err != nil {
					t.Errorf("%s: %v", at, err)
				}
				if got := hostOf(u); got != host("http://"+all[0]) {
					t.Errorf("%s is at %s, want %s", at, got, host("http://"+all[0]))
				}
			}
			if checkLoop("http://"+spelt+":08080/abc", "https://"+all[0]+":8080") == nil {
				t.Errorf("%s, with a port, is not taken for %s", spelt, all[0])
			}
		}
	}
	// Hosts that only look alike are other hosts.
	for _, other := range []string{"127.0.0.2", "128.0.0.1", "2130706434", "127.0.0.1.example", "127.0.0.0.1", "0x7f000001.example", "08.0.0.1", "1.2.3.400", "sho.rt.example", "xsho.rt", "sho-rt"} {
		for _, own := range []string{"127.0.0.1", "sho.rt"} {
			if err := checkLoop("http://"+other+"/abc", "http://"+own); err != nil {
				t.Errorf("%s is taken for %s", other, own)
			}
		}
	}
}

// TestFoldersInOddSpellings: the producer may serve one folder of a host.
func TestFoldersInOddSpellings(t *testing.T) {
	for long, back := range map[string]bool{
		"https://a.example/s/x": true, "https://a.example/s/": true, "https://a.example/b/../s/x": true, "https://a.example/./s/x": true, "https://a.example/%2e%2e/s/x": true,
		"https://a.example/b/%2E%2e/s/x": true, "https://a.example//s/x": true, "https://a.example/s/../b": false, "https://a.example/shop": false,
	} {
		if got := checkLoop(long, "https://a.example/s") != nil; got != back {
			t.Errorf("%s: leads back %t", long, got)
		}
	}
}

// TestARoundInOddSpelling: a link to the producer itself is not followed and makes no click.
func TestARoundInOddSpelling(t *testing.T) {
	for _, spelt := range spellings[2] {
		f := newFixture(t, nil) // it is asked as sho.rt
		f.store.links["abc"] = "http://" + spelt + "/abc"
		if w := f.follow(http.MethodGet, "/abc"); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d, to %s", spelt, w.Code, w.Header().Get("Location"))
		}
		f.close(t, time.Minute)
		if n := len(f.kafka.clicks); n != 0 {
			t.Errorf("%s: %d clicks", spelt, n)
		}
	}
}
