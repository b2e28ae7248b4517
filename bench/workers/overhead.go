package main

import "context"

func (b *bench) overhead(ctx context.Context) error { return nil }
func (b *bench) cuts(ctx context.Context) error     { return nil }
func (b *bench) thousand(ctx context.Context) error { return nil }
