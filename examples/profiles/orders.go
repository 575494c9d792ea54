package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"time"
)

type order struct {
	ID    int
	Items []string
}

func serialize(o order) []byte { b, _ := json.Marshal(o); return b }
func compress(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}
func checksum(b []byte) [32]byte { return sha256.Sum256(b) }
func handle(n int) (total int) {
	items := make([]string, 64)
	for i := range items {
		items[i] = fmt.Sprintf("item %d of order %d", i, n)
	}
	text := serialize(order{n, items})
	packed := compress(text)
	for i := 0; i < 20; i++ {
		s := checksum(text)
		total += int(s[0])
	}
	return total + len(packed)
}
func main() {
	f, _ := os.Create(os.Args[1])
	pprof.StartCPUProfile(f)
	sum := 0
	for start := time.Now(); time.Since(start) < 1500*time.Millisecond; {
		sum += handle(sum)
	}
	pprof.StopCPUProfile()
	f.Close()
	h, _ := os.Create(os.Args[2])
	pprof.WriteHeapProfile(h)
	h.Close()
	fmt.Println(sum)
}
