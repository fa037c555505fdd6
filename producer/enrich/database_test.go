package enrich

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

// writeDatabase writes a MaxMind database in which one network has a country: a tree of 24-bit records, 16 zero bytes, one
// record of data, the metadata. https://maxmind.github.io/MaxMind-DB/
func writeDatabase(t *testing.T, kind, network, country string) string {
	t.Helper()
	prefix := netip.MustParsePrefix(network)
	bits := prefix.Bits()
	if prefix.Addr().Is4() {
		bits += 96 // IPv4 lives in ::/96
	}
	var out []byte
	address := prefix.Addr().As16()
	if prefix.Addr().Is4() {
		four := prefix.Addr().As4()
		address = [16]byte{12: four[0], 13: four[1], 14: four[2], 15: four[3]}
	}
	nodes := uint32(bits)
	for i := range nodes {
		next := i + 1
		if next == nodes {
			next = nodes + 16 // the first byte of the data
		}
		pair := [2]uint32{nodes, nodes} // nothing here
		pair[address[i/8]>>(7-i%8)&1] = next
		for _, record := range pair {
			out = append(out, byte(record>>16), byte(record>>8), byte(record))
		}
	}
	out = append(out, make([]byte, 16)...)
	out = append(out, mapOf(1)...)
	out = append(out, text("country")...)
	out = append(out, mapOf(1)...)
	out = append(append(out, text("iso_code")...), text(country)...)

	out = append(out, "\xab\xcd\xefMaxMind.com"...)
	out = append(out, mapOf(7)...)
	number := func(name string, n uint32) {
		out = append(out, text(name)...)
		out = append(append(out, 6<<5|4), binary.BigEndian.AppendUint32(nil, n)...)
	}
	number("node_count", nodes)
	number("record_size", 24)
	number("ip_version", 6)
	number("binary_format_major_version", 2)
	number("binary_format_minor_version", 0)
	number("build_epoch", 1)
	out = append(append(out, text("database_type")...), text(kind)...)

	file := filepath.Join(t.TempDir(), "test.mmdb")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func mapOf(pairs byte) []byte { return []byte{7<<5 | pairs} }

func text(s string) []byte {
	if len(s) < 29 {
		return append([]byte{2<<5 | byte(len(s))}, s...)
	}
	return append([]byte{2<<5 | 29, byte(len(s) - 29)}, s...)
}
