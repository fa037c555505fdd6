package export

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"footfall/models"
)

// Bytes of a part of a file's name, and of the whole without its ending. File systems take 255, and the manifest has an ending more.
const (
	mostOfPart = 120
	mostOfName = 200
)

// FileName is a name for a file of counts: its parts, with - between them. Letters, digits, - and _ of a part stay; all else is %XX, so
// that no name of a link or site leads to another folder or ends a header. What is too long is cut, and has a part of its SHA-256 then.
func FileName(ending string, parts ...string) string {
	name := "footfall"
	for _, part := range parts {
		name += "-" + cut(escape(part), mostOfPart, part)
	}
	return cut(name, mostOfName, strings.Join(parts, "\x00")) + "." + ending
}

// FileName is a name for the file of an export.
func (w What) FileName(ending Format) string {
	kind, name := "site", w.Site
	if w.Link != "" {
		kind, name = "link", w.Link
	}
	return FileName(string(ending), kind, name, w.Month.Time().Format(models.Monthly))
}

func escape(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// cut shortens an escaped text; whole tells it from others that begin the same.
func cut(escaped string, most int, whole string) string {
	if len(escaped) <= most {
		return escaped
	}
	sum := sha256.Sum256([]byte(whole))
	return strings.TrimRight(escaped[:most-21], "%") + "~" + hex.EncodeToString(sum[:8])
}
