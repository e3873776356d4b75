// Go's net/http over HTTP/2. Arguments: port, authority, key, payload, pushes, outstanding, rate (0: as fast as it can).
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func number(i int) int { n, _ := strconv.Atoi(os.Args[i]); return n }

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

func usage() (float64, float64) {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return seconds(u.Utime) + seconds(u.Stime), float64(u.Maxrss) * 1024 / 1e6
}

func main() {
	pem, _ := os.ReadFile(os.Args[2])
	body, _ := os.ReadFile(os.Args[4])
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true, MaxConnsPerHost: 1}}
	bearer := "bearer " + strings.Repeat("j", 200)
	push := func(n int) {
		r, _ := http.NewRequest("POST", fmt.Sprintf("https://127.0.0.1:%s/3/device/%064x", os.Args[1], n%1000),
			bytes.NewReader(body))
		r.Header.Set("authorization", bearer)
		r.Header.Set("apns-topic", "com.example.bench.push-type.liveactivity")
		r.Header.Set("apns-push-type", "liveactivity")
		r.Header.Set("apns-priority", "10")
		r.Header.Set("apns-expiration", "0")
		r.Header.Set("apns-id", "00000000-0000-0001-0000-000000000007")
		answer, err := client.Do(r)
		if err != nil || answer.StatusCode != 200 {
			fmt.Fprintln(os.Stderr, "not accepted:", err)
			os.Exit(1)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	run := func(count, outstanding, rate int) []float64 {
		times := make([]float64, count)
		var all sync.WaitGroup
		if rate > 0 {
			begin := time.Now()
			for sent := 0; sent < count; {
				due := int(time.Since(begin).Seconds() * float64(rate))
				for ; sent < due && sent < count; sent++ {
					all.Add(1)
					go func(n int) {
						at := begin.Add(time.Duration(float64(n) / float64(rate) * 1e9))
						push(n)
						times[n] = time.Since(at).Seconds() * 1000
						all.Done()
					}(sent)
				}
				time.Sleep(time.Millisecond)
			}
			all.Wait()
			return times
		}
		next := make(chan int, outstanding)
		for i := 0; i < outstanding; i++ {
			all.Add(1)
			go func() {
				for n := range next {
					at := time.Now()
					push(n)
					times[n] = time.Since(at).Seconds() * 1000
				}
				all.Done()
			}()
		}
		for n := 0; n < count; n++ {
			next <- n
		}
		close(next)
		all.Wait()
		return times
	}
	pushes, outstanding, rate := number(5), number(6), number(7)
	run(2000, outstanding, 0)
	before, _ := usage()
	begin := time.Now()
	times := run(pushes, outstanding, rate)
	took := time.Since(begin).Seconds()
	after, peak := usage()
	sort.Float64s(times)
	fmt.Printf("{\"pushes\": %d, \"seconds\": %f, \"cpu_s\": %f, \"rss_mb\": %f, \"p50_ms\": %f, \"p99_ms\": %f}\n",
		pushes, took, after-before, peak, times[len(times)/2], times[len(times)*99/100])
}
