package producer

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sidetask/registry"
	"sidetask/spool"
)

// meta is what is kept beside the output: enough to go on after a restart.
type meta struct {
	Format int    `json:"format"`
	Stream bool   `json:"stream"`
	Key    string `json:"key"` // SHA-256 of the key, in hex
}

// format is the number of meta's format.
const format = 1

// work is one live task.
type work struct {
	dir   string
	meta  meta
	named chan struct{} // closed when the producer knows the task's id

	mu      sync.Mutex // guards all below
	id      string     // "" until the producer knows it
	asked   bool       // a cancel came and could not wait for that
	reason  *string    // of it
	conn    Conn       // nil: lost
	timer   *time.Timer
	writer  *spool.Writer
	ended   bool
	changed chan struct{} // closed and replaced when output came or the task ended
}

// newKey makes a resume key (128 random bits) and the hash that is kept of it.
func newKey() (key, hash string) {
	var bits [16]byte
	_, _ = rand.Read(bits[:]) // never fails
	key = hex.EncodeToString(bits[:])
	return key, hashOf(key)
}

func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

func output(dir string) string   { return filepath.Join(dir, "output") }
func metaFile(dir string) string { return filepath.Join(dir, "meta.json") }

// begin makes the task's folder.
func (w *work) begin() error {
	if err := os.MkdirAll(output(w.dir), 0o700); err != nil {
		return err
	}
	w.meta.Format = format
	data, err := json.Marshal(w.meta)
	if err != nil {
		return err
	}
	temporary := metaFile(w.dir) + ".new"
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, metaFile(w.dir))
}

// loadMeta reads what is kept of a task.
func loadMeta(dir string) (meta, error) {
	var m meta
	data, err := os.ReadFile(metaFile(dir))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, err
	}
	if m.Format > format {
		return m, errors.New("written by a newer sidetask")
	}
	return m, nil
}

// name says that the producer knows its task's id; due, that a cancel came before.
func (w *work) name(id string) (reason *string, due bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id = id
	close(w.named)
	return w.reason, w.asked
}

func (w *work) heldBy(conn Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conn == conn
}

func (w *work) hasEnded() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

func (w *work) wakeLocked() {
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *work) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wakeLocked()
}

// append writes to the spool.
func (w *work) append(text string, limits spool.Limits) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.appendLocked(text, limits)
}

func (w *work) appendLocked(text string, limits spool.Limits) error {
	if w.ended {
		return hasEnded(w.id)
	}
	if text == "" {
		return nil
	}
	if w.writer == nil {
		writer, err := spool.NewWriter(output(w.dir), limits)
		if err != nil {
			return err
		}
		w.writer = writer
	}
	_, err := w.writer.Write([]byte(text))
	w.wakeLocked()
	return err
}

// replace writes the one text of a final-output task. What an earlier try
// wrote of it goes.
func (w *work) replace(text string, limits spool.Limits) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.closeLocked(); err != nil {
		return err
	}
	if err := os.RemoveAll(output(w.dir)); err != nil {
		return err
	}
	return w.appendLocked(text, limits)
}

func (w *work) closeLocked() error {
	if w.writer == nil {
		return nil
	}
	err := w.writer.Close()
	w.writer = nil
	return err
}

// finish closes the output for good.
func (w *work) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.stopTimerLocked()
	return w.closeLocked()
}

func removeFolder(dir string) (int64, error) {
	freed, err := spool.Usage(output(dir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	return freed, os.RemoveAll(dir)
}

// resume gives the task to a connection that has its key.
func (w *work) resume(conn Conn, id, key string) error {
	if subtle.ConstantTimeCompare([]byte(hashOf(key)), []byte(w.meta.Key)) != 1 {
		return registry.Errorf(registry.KindUnauthorized, "that is not the key of task %s", id)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return hasEnded(id)
	}
	w.stopTimerLocked()
	w.conn = conn
	return nil
}

func hasEnded(id string) error {
	return registry.Errorf(registry.KindInvalid, "task %s has ended", id)
}

// giveUp ends the wait for the producer; false when it came back after all.
func (w *work) giveUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil || w.ended {
		return false
	}
	w.ended = true
	return true
}

func (w *work) stopTimerLocked() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// lose takes the task from a connection that is gone; expired is called when
// nobody resumes it in time.
func (w *work) lose(conn Conn, grace time.Duration, expired func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != conn || w.ended {
		return
	}
	w.conn = nil
	w.stopTimerLocked()
	w.timer = time.AfterFunc(grace, expired)
}

// cancel asks the producer to stop. Its refusal in time is an error; silence
// and an answer are not.
func (w *work) cancel(ctx context.Context, reason *string) error {
	limited, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	select {
	case <-w.named:
	case <-limited.Done(): // its registration is still being answered: named asks then
	}
	w.mu.Lock()
	conn, id := w.conn, w.id
	if id == "" {
		w.asked, w.reason = true, reason
		w.mu.Unlock()
		return nil
	}
	w.mu.Unlock()
	if conn == nil {
		return registry.Errorf(registry.KindProducerFailed, disconnected)
	}
	err := conn.Cancel(limited, id, reason)
	if limited.Err() != nil {
		return nil
	}
	return err
}
