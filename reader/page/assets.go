package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assetFiles embed.FS

// asset is a file that pages load. Its name has a hash of its bytes: what has a name never changes, and browsers keep it for good.
type asset struct {
	name, mediaType string
	plain, zipped   []byte
}

var assets, assetNames = loadAssets()

func loadAssets() (byName map[string]asset, names map[string]string) {
	byName, names = map[string]asset{}, map[string]string{}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // they are in the binary
	}
	for _, entry := range entries {
		file := entry.Name()
		data, err := assetFiles.ReadFile("assets/" + file)
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(data)
		ext := path.Ext(file)
		a := asset{name: strings.TrimSuffix(file, ext) + "." + hex.EncodeToString(sum[:6]) + ext, mediaType: mime.TypeByExtension(ext), plain: data, zipped: zip(data, gzip.BestCompression)}
		byName[a.name], names[file] = a, "/assets/"+a.name
	}
	return byName, names
}

func zip(data []byte, level int) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, level) // the level is one
	_, _ = w.Write(data)                   // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

func (h *Handler) asset(w http.ResponseWriter, r *http.Request, name string) {
	a, ok := assets[name]
	if !ok {
		h.show(w, r, http.StatusNotFound, problem("There is no such file", "Reload the page that asked for it."))
		return
	}
	w.Header().Set("Content-Type", a.mediaType)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	write(w, r, http.StatusOK, a.plain, a.zipped)
}
