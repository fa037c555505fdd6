package export

import (
	"archive/zip"
	"context"
	"io"
	"time"
)

// ManifestName is the manifest's name in a ZIP; the rows are counts.csv, counts.ndjson or counts.parquet. No name of a site or link is in
// it: programs that unpack would make files and folders of it.
const ManifestName = "manifest.json"

// Zip writes the rows and then the manifest as a ZIP, piece by piece. One that was cut has no directory at its end, and no program takes
// it for whole.
func (e *Export) Zip(ctx context.Context, w io.Writer) error {
	z := zip.NewWriter(w)
	method := zip.Deflate
	if e.format == Parquet {
		method = zip.Store // it is compressed
	}
	now := time.Now().UTC()
	counts, err := z.CreateHeader(&zip.FileHeader{Name: "counts." + string(e.format), Method: method, Modified: now})
	if err != nil {
		return err
	}
	m, err := e.Write(ctx, counts)
	if err != nil {
		return err
	}
	manifest, err := z.CreateHeader(&zip.FileHeader{Name: ManifestName, Method: zip.Deflate, Modified: now})
	if err != nil {
		return err
	}
	if _, err := manifest.Write(m.JSON()); err != nil {
		return err
	}
	return z.Close()
}
