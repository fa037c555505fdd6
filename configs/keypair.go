package configs

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookEvery is how seldom files are looked at, however many handshakes there are.
const lookEvery = time.Second

// KeyPair is a certificate and its private key in PEM files. It is read again when the files change, since certificates are
// renewed more often than processes are restarted. It is safe for concurrent use.
type KeyPair struct {
	// Failed is told when changed files cannot be used, once per change: the pair of before stays in use. Default: nobody is.
	Failed func(error)

	cert, key string
	clock     func() time.Time

	mu     sync.Mutex
	pair   *tls.Certificate
	files  [2]os.FileInfo
	looked time.Time
}

// ServerTLS is the certificate of a listener: PEM files, both empty for plain HTTP.
type ServerTLS struct{ Cert, Key string }

// URL is the URL of a listener that has this certificate, if there is one.
func (t ServerTLS) URL(addr string) string {
	if t.Cert != "" {
		return "https://" + addr
	}
	return "http://" + addr
}

// KeyPair reads the certificate of http.tls. It is nil, for plain HTTP, if none is configured. Errors are *Wrong.
func (t ServerTLS) KeyPair() (*KeyPair, error) {
	switch {
	case t.Cert == "" && t.Key == "":
		return nil, nil
	case t.Cert == "" || t.Key == "":
		return nil, MarkWrong(errors.New("http.tls needs both cert and key"))
	}
	pair, err := LoadKeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, MarkWrong(fmt.Errorf("reading http.tls.cert and http.tls.key: %w", err))
	}
	return pair, nil
}

// LoadKeyPair reads both files.
func LoadKeyPair(cert, key string) (*KeyPair, error) {
	k := &KeyPair{Failed: func(error) {}, cert: cert, key: key, clock: time.Now}
	k.files = k.look()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	k.pair, k.looked = &pair, k.clock()
	return k, nil
}

// Current is the pair as the files had it a second ago at the most, or the last one that could be used.
func (k *KeyPair) Current() *tls.Certificate {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock()
	if now.Sub(k.looked) < lookEvery {
		return k.pair
	}
	k.looked = now
	files := k.look() // before they are read: what changes meanwhile is seen the next time
	if same(files[0], k.files[0]) && same(files[1], k.files[1]) {
		return k.pair
	}
	k.files = files
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		k.Failed(err)
		return k.pair
	}
	k.pair = &pair
	return k.pair
}

// look finds what the files are now; nil for one that is not there.
func (k *KeyPair) look() (files [2]os.FileInfo) {
	for i, name := range []string{k.cert, k.key} {
		if info, err := os.Stat(name); err == nil {
			files[i] = info
		}
	}
	return files
}

func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
