package server

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sidetask/rpc"
)

// results is what each method answers with.
var results = map[string]any{
	rpc.MethodInitialize:      rpc.Initialized{},
	rpc.MethodOwnerRegister:   rpc.OwnerRegistered{},
	rpc.MethodOwnerBind:       rpc.OwnerBound{},
	rpc.MethodOwnerDispose:    rpc.OwnerDisposed{},
	rpc.MethodOwnerList:       rpc.OwnerListResult{},
	rpc.MethodInboxClaim:      rpc.InboxClaimed{},
	rpc.MethodInboxList:       rpc.InboxNotices{},
	rpc.MethodInboxWait:       rpc.InboxNotices{},
	rpc.MethodTaskStart:       rpc.TaskResult{},
	rpc.MethodTaskRegister:    rpc.TaskRegistered{},
	rpc.MethodTaskResume:      rpc.TaskResult{},
	rpc.MethodTaskOutput:      rpc.TaskOutputResult{},
	rpc.MethodTaskList:        rpc.TaskListResult{},
	rpc.MethodTaskGet:         rpc.TaskResult{},
	rpc.MethodTaskKill:        rpc.TaskKillResult{},
	rpc.MethodTaskWait:        rpc.TaskResult{},
	rpc.MethodTaskTail:        rpc.TaskTailResult{},
	rpc.MethodTaskWrite:       rpc.TaskWritten{},
	rpc.MethodTaskSubscribe:   rpc.TaskSubscribed{},
	rpc.MethodTaskPrune:       rpc.TaskPruned{},
	rpc.MethodToolsList:       rpc.ToolsListResult{},
	rpc.MethodToolsPresent:    rpc.Card{},
	rpc.MethodToolsCall:       rpc.ToolsCallResult{},
	rpc.MethodMountAttach:     rpc.MountAttached{},
	rpc.MethodMountList:       rpc.MountListResult{},
	rpc.MethodPolicyAttach:    rpc.PolicyAttached{},
	rpc.MethodConfigGet:       rpc.ConfigGetResult{},
	rpc.MethodConfigReload:    rpc.ConfigReloadResult{},
	rpc.MethodConfigSubscribe: rpc.ConfigChanged{},
	rpc.MethodDaemonStatus:    rpc.DaemonStatus{},
	rpc.MethodDaemonStop:      rpc.DaemonStopped{},
	rpc.MethodOwnerResolve:    rpc.OwnerResolved{},
	rpc.MethodPolicyPre:       rpc.PolicyPreResult{},
	rpc.MethodPolicyPost:      rpc.PolicyPostResult{},
}

// messages are the parameters of what is in no table of handlers.
var messages = map[string]any{
	rpc.NotifyCancelRequest:  rpc.CancelRequest{},
	rpc.NotifyToolsDelivered: rpc.ToolsDelivered{},
	rpc.NotifyInboxPending:   rpc.InboxPending{},
	rpc.NotifyOwnerLost:      rpc.OwnerLost{},
	rpc.NotifyTaskChanged:    rpc.TaskChanged{},
	rpc.NotifyTaskRemoved:    rpc.TaskRemoved{},
	rpc.NotifyConfigChanged:  rpc.ConfigChanged{},
	rpc.MethodTaskCancel:     rpc.TaskCancel{},
	rpc.MethodOwnerResolve:   rpc.OwnerResolve{},
	rpc.MethodPolicyPre:      rpc.PolicyPre{},
	rpc.MethodPolicyPost:     rpc.PolicyPost{},
}

// objects are the types that have a section of their own.
var objects = map[string]any{
	"Task": rpc.Task{}, "Operator": rpc.Operator{}, "Notice": rpc.Notice{}, "Owner": rpc.OwnerInfo{},
	"Mount": rpc.MountInfo{}, "Config state": rpc.ConfigState{},
}

// TestReferenceIsComplete holds docs/api.md to the code: each method of package rpc
// has a section, whose tables name each parameter and nothing else, and which says
// what is the operator's only and what a result has.
func TestReferenceIsComplete(t *testing.T) {
	page := referenceSections(t)
	table := methods()
	for _, name := range methodsOfWire(t) {
		text, ok := page["`"+name+"`"]
		if !ok {
			t.Errorf("docs/api.md has no section %q", name)
			continue
		}
		delete(page, "`"+name+"`")
		params := reflect.TypeOf(messages[name])
		if m, ok := table[name]; ok {
			params = m.params
			if got := strings.Contains(text, "Operator only."); got != m.operator {
				t.Errorf("%s: the page says operator only: %v, want %v", name, got, m.operator)
			}
		}
		if params == nil {
			t.Errorf("%s: neither a handler nor the test knows its parameters", name)
			continue
		}
		if params == reflect.TypeFor[mountParams]() { // the same with its settings unread
			params = reflect.TypeFor[rpc.MountAttach]()
		}
		compareNames(t, name, text, wireNames(params, ""))
		_, result, _ := strings.Cut(text, "Result: ")
		if object, ok := results[name]; ok {
			for _, field := range resultNames(object) {
				if !strings.Contains(result, "`"+field+"`") {
					t.Errorf("%s: its result does not name %q", name, field)
				}
			}
		} else if _, called := table[name]; called && !strings.HasPrefix(result, "`{}`") {
			t.Errorf("%s: its result is not said to be {}, and the test knows no other", name)
		}
	}
	for name, object := range objects {
		compareNames(t, name, page[name], wireNames(reflect.TypeOf(object), ""))
		delete(page, name)
	}
	for name := range page {
		t.Errorf("docs/api.md has a section %q, and the code has no such thing", name)
	}
}

// TestReferenceHasErrors: the page has every code, with its kind.
func TestReferenceHasErrors(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, row := range regexp.MustCompile("(?m)^\\| (-32\\d+) \\| (?:`(\\w+)`)? ?\\|").FindAllStringSubmatch(string(page), -1) {
		code, _ := strconv.Atoi(row[1])
		got = append(got, code)
		var data struct{ Kind string }
		_ = json.Unmarshal(rpc.Errorf(code, "x").Data, &data) // none: no kind
		if data.Kind != row[2] {
			t.Errorf("%d has the kind %q in the page, %q in the code", code, row[2], data.Kind)
		}
	}
	var want []int
	for name, value := range constants(t, "../errors.go") {
		if strings.HasPrefix(name, "Code") {
			code, _ := strconv.Atoi(value)
			want = append(want, code)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the page has the codes %v, the code %v", got, want)
	}
}

// resultNames are the names of a result's own fields.
func resultNames(object any) (names []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeOf(object)) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && !field.Anonymous {
			names = append(names, name)
		}
	}
	return names
}

// compareNames compares the names in the first column of a section's table.
func compareNames(t *testing.T, section, text string, want []string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
				got = append(got, name[1])
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("docs/api.md, %s: the table has\n%q, the code\n%q", section, got, want)
	}
}

// wireNames are the names of a type's fields, those of a field that is an object
// with its name before them, unless they have a section of their own or are
// no parameters but a result.
func wireNames(of reflect.Type, prefix string) (names []string) {
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case field.Anonymous || name == "":
		case inner.Kind() == reflect.Struct && !hasSection(inner):
			names = append(names, wireNames(inner, prefix+name+".")...)
		default:
			names = append(names, prefix+name)
		}
	}
	return names
}

func hasSection(of reflect.Type) bool {
	for _, object := range objects {
		if of == reflect.TypeOf(object) {
			return true
		}
	}
	return of == reflect.TypeFor[rpc.ToolsCallResult]()
}

// referenceSections are the texts of the page's sections of the third level.
func referenceSections(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]string)
	for _, chapter := range strings.Split(string(page), "\n## ") {
		for _, section := range strings.Split(chapter, "\n### ")[1:] {
			name, text, _ := strings.Cut(section, "\n")
			if _, twice := sections[name]; twice {
				t.Errorf("docs/api.md has two sections %q", name)
			}
			sections[name] = text
		}
	}
	return sections
}

// methodsOfWire are all methods and notifications that package rpc names.
func methodsOfWire(t *testing.T) (names []string) {
	t.Helper()
	for name, value := range constants(t, "../methods.go") {
		if strings.HasPrefix(name, "Method") || strings.HasPrefix(name, "Notify") {
			value, err := strconv.Unquote(value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, value)
		}
	}
	return names
}

// constants are the constants of a file as they are written there.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		switch v := spec.Values[0].(type) {
		case *ast.BasicLit:
			all[spec.Names[0].Name] = v.Value
		case *ast.UnaryExpr:
			if lit, ok := v.X.(*ast.BasicLit); ok {
				all[spec.Names[0].Name] = v.Op.String() + lit.Value
			}
		}
		return true
	})
	return all
}
