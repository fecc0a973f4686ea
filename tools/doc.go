// Package tools has the model's tools, task_start, task_output, task_list and
// task_kill, as one pipeline (BEHAVIOUR T145 to T154): look up the task and its
// byte cap, ask the policies, execute, ask the policies again, bound the text.
//
// It knows no connection and no process: commands are started through
// [Commands], policies asked through [Policy].
package tools
