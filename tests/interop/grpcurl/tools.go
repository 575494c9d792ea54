//go:build tools

// Package tools names the command that go.mod locks; nothing is compiled of it.
package tools

import _ "github.com/fullstorydev/grpcurl/cmd/grpcurl"
