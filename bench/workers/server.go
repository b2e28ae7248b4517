//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const nginxText = `daemon off; user root; pid %[1]s/nginx.pid; error_log %[1]s/nginx.log;
events {}
http {
	access_log off; client_max_body_size 0; client_body_temp_path %[1]s/body; fastcgi_temp_path %[1]s/fcgi;
	server {
		listen 8080;
		location / {
			include /etc/nginx/fastcgi_params;
			fastcgi_pass unix:%[1]s/fcgi.sock;
			fastcgi_param SCRIPT_FILENAME /usr/lib/git-core/git-http-backend;
			fastcgi_param PATH_INFO $uri;
			fastcgi_param GIT_PROJECT_ROOT %[1]s/served;
			fastcgi_param GIT_HTTP_EXPORT_ALL 1;
			fastcgi_param PATH $PATH;
		}
	}
}
`

const sshdText = `Port 2222
ListenAddress %[2]s
HostKey %[1]s/key
AuthorizedKeysFile %[1]s/key.pub
StrictModes no
UsePAM no
PidFile none
AcceptEnv GIT_PROTOCOL
MaxStartups 1000
`

// serve starts git daemon, a web server and sshd. Each takes as many at once as come; their own limits are lower.
func (b *bench) serve(ctx context.Context) error {
	for _, dir := range []string{b.file("served"), "/run/sshd"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", b.file("key")).
		CombinedOutput(); err != nil {
		return fmt.Errorf("ssh-keygen: %w: %s", err, out)
	}
	path := "/usr/bin:/bin"
	nginx, err := b.write("nginx.conf", fmt.Sprintf(os.Expand(nginxText, func(name string) string {
		return map[string]string{"PATH": path, "uri": "$uri"}[name]
	}), b.Dir), 0o600)
	sshd, err2 := b.write("sshd.conf", fmt.Sprintf(sshdText, b.Dir, b.link.host), 0o600)
	config := filepath.Join(b.Dir, "home", "gitconfig")
	text, err3 := os.ReadFile(config)
	text = fmt.Appendf(text, "[http]\n\treceivepack = true\n[core]\n\tsshCommand = ssh -F /dev/null -i %s -p 2222 "+
		"-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR %s\n", b.file("key"), b.ssh)
	err4 := os.WriteFile(config, text, 0o600)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"git", "daemon", "--enable=receive-pack", "--export-all", "--reuseaddr", "--max-connections=0",
			"--base-path=" + b.file("served")},
		{"fcgiwrap", "-c", "64", "-s", "unix:" + b.file("fcgi.sock")},
		{"nginx", "-c", nginx},
		{"/usr/sbin/sshd", "-D", "-f", sshd},
	} {
		if err := b.link.start(b.Env, args...); err != nil {
			return err
		}
	}
	for _, port := range []string{"9418", "8080", "2222"} {
		if err := reachable(ctx, net.JoinHostPort(b.link.host, port)); err != nil {
			return err
		}
	}
	return nil
}

func reachable(ctx context.Context, address string) error {
	for range 100 {
		if c, err := net.Dial("tcp", address); err == nil {
			return c.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(ctx.Err(), fmt.Errorf("nothing answers at %s", address))
}

// url is how a served repository is reached.
func (b *bench) url(transport, repo string) string {
	switch transport {
	case "":
		return filepath.Join(b.file("served"), repo)
	case "http":
		return "http://" + b.link.host + ":8080/" + repo
	case "ssh":
		return "ssh://root@" + b.link.host + filepath.Join(b.file("served"), repo)
	}
	return "git://" + b.link.host + "/" + repo
}
