// Package paths is the one room that knows where sidetask's files lie: the
// configuration, the state folder, the runtime folder and the socket.
//
// It reads the environment and looks at folders; it opens no socket and knows
// nothing of what is written where.
package paths
