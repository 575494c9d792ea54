// Calls a server of interop.thrift with Apache Thrift's Go library: PORT binary|compact [CA_FILE].
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"

	"accelflow/interop/gen/interop"
	"accelflow/interop/gen/shared"

	"github.com/apache/thrift/lib/go/thrift"
)

func configuration(ca string) (*thrift.TConfiguration, error) {
	if ca == "" {
		return &thrift.TConfiguration{}, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	secure := &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS13}
	return &thrift.TConfiguration{TLSConfig: secure}, nil
}

func everything() *interop.Everything {
	label := "grüße \"\\\n\x00"
	value := interop.NewEverything()
	value.Yes = true
	value.Tiny, value.Small, value.Medium = math.MinInt8, math.MaxInt16, math.MinInt32
	value.Large = math.MaxInt64
	value.Real = -1e300
	value.Text = label
	value.Blob = []byte{0, 1, 0x80, 0xff}
	value.Colour = shared.Colour_BLUE
	value.Numbers = []int64{0, -1, math.MinInt64, math.MaxInt64}
	value.Names = []string{"", "one"}
	value.Shares = map[string]float64{"": 0.1, "b": 2}
	value.Index = map[int32][]string{-1: {"minus"}, 1 << 30: {}}
	value.Path = []*interop.Point{{X: 1, Y: 2}, {X: 3, Y: 4, Label: &label}}
	value.Either = &interop.Either{Path: []*interop.Point{{X: 5}}}
	value.Flags = []bool{true, false, true}
	return value
}

// echo sends values of all types, and some that need many segments and records.
func echo(ctx context.Context, client *interop.InteropClient) error {
	for _, size := range []int{0, 1 << 10, 1 << 16, 1 << 20} {
		value := everything()
		value.Text += strings.Repeat("x", size)
		value.Numbers = append(value.Numbers, make([]int64, size/64)...)
		found, err := client.Echo(ctx, value)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(found, value) {
			return fmt.Errorf("echo of %d: %v", size, found)
		}
	}
	return nil
}

func arithmetic(ctx context.Context, client *interop.InteropClient) error {
	sum := int64(0)
	for turn := int64(1); turn <= 100; turn++ {
		found, err := client.Add(ctx, sum, turn)
		if err != nil || found != sum+turn {
			return fmt.Errorf("%d + %d = %d, %w", sum, turn, found, err)
		}
		sum = found
	}
	_, err := client.Add(ctx, math.MaxInt64, 1)
	var refused *shared.Refused
	if !errors.As(err, &refused) || refused.Code != 7 || refused.Why != "overflow" {
		return fmt.Errorf("overflow: %w", err)
	}
	return nil
}

func failures(ctx context.Context, client *interop.InteropClient) error {
	err := client.Fail(ctx, "on purpose")
	var failed thrift.TApplicationException
	if !errors.As(err, &failed) || failed.TypeId() != thrift.INTERNAL_ERROR ||
		!strings.Contains(failed.Error(), "on purpose") {
		return fmt.Errorf("fail: %w", err)
	}
	_, err = client.Missing(ctx)
	if !errors.As(err, &failed) || failed.TypeId() != thrift.UNKNOWN_METHOD {
		return fmt.Errorf("missing: %w", err)
	}
	return nil
}

func defaults(ctx context.Context, client *interop.InteropClient) error {
	found, err := client.Standard(ctx)
	origin := interop.Point{X: 0.5, Y: -1}
	standard := interop.NewDefaults()
	// The library's constructor leaves structs out, and its getters put them in.
	standard.Origin = &origin
	if err != nil || !reflect.DeepEqual(found, standard) {
		return fmt.Errorf("standard: %v, %w", found, err)
	}
	changed := interop.NewDefaults()
	changed.Count = 5
	changed.Origin = &origin
	text, err := client.Describe(ctx, changed)
	expected := `{"colour":7,"count":5,"numbers":[1,2],"origin":{"x":0.5,"y":-1.0},` +
		`"sure":true,"text":"as \"usual\""}`
	if err != nil || text != expected {
		return fmt.Errorf("describe: %s, %w", text, err)
	}
	return nil
}

func note(ctx context.Context, client *interop.InteropClient) error {
	number := int64(os.Getpid())
	if err := client.Note(ctx, number); err != nil {
		return err
	}
	if found, err := client.Noted(ctx, number); err != nil || !found {
		return fmt.Errorf("noted: %v, %w", found, err)
	}
	return nil
}

func run(port, protocol, ca string) error {
	config, err := configuration(ca)
	if err != nil {
		return err
	}
	var socket thrift.TTransport = thrift.NewTSocketConf("localhost:"+port, config)
	if ca != "" {
		socket = thrift.NewTSSLSocketConf("localhost:"+port, config)
	}
	framed := thrift.NewTFramedTransportConf(socket, config)
	if err := framed.Open(); err != nil {
		return err
	}
	defer framed.Close()
	var wire thrift.TProtocol = thrift.NewTBinaryProtocolConf(framed, config)
	if protocol == "compact" {
		wire = thrift.NewTCompactProtocolConf(framed, config)
	}
	ctx := context.Background()
	named := thrift.NewTMultiplexedProtocol(wire, "Interop")
	for _, out := range []thrift.TProtocol{wire, named} {
		client := interop.NewInteropClient(thrift.NewTStandardClient(wire, out))
		steps := []func(context.Context, *interop.InteropClient) error{
			echo, arithmetic, failures, defaults, note,
		}
		for _, step := range steps {
			if err := step(ctx, client); err != nil {
				return err
			}
		}
	}
	return nil
}

func main() {
	if len(os.Args) < 3 {
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], strings.Join(os.Args[3:], "")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ok")
}
