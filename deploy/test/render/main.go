// Renders a chart as `helm template` does, for tests where there is no helm:
//
//	render --chart DIR [--values FILE]... [--release NAME] [--namespace NAME] [--kube-version V] [--notes | --merged]
//
// It has what charts use: text/template with sprig, include, tpl, required, fail, lookup and the YAML functions, merged
// values, and the objects .Values, .Release, .Chart, .Capabilities, .Files and .Template. It has no subcharts and no
// hooks, and looks nothing up in a cluster. --notes prints NOTES.txt, and --merged the values as JSON, for the check of
// their schema.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/semver"
	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type object = map[string]interface{}

// capabilities are those of a cluster that nobody has asked.
type capabilities struct {
	KubeVersion kubeVersion
	APIVersions versionSet
	HelmVersion object
}

type kubeVersion struct{ Version, Major, Minor string }

func (v kubeVersion) String() string     { return v.Version }
func (v kubeVersion) GitVersion() string { return v.Version }

type versionSet []string

func (s versionSet) Has(version string) bool {
	for _, known := range s {
		if known == version {
			return true
		}
	}
	return false
}

// files are the files of the chart beside its templates.
type files map[string][]byte

func (f files) Get(name string) string { return string(f[name]) }
func (f files) Lines(name string) []string {
	return strings.Split(strings.TrimSuffix(f.Get(name), "\n"), "\n")
}
func (f files) Glob(pattern string) files {
	found := files{}
	for name, content := range f {
		if matches, _ := path.Match(pattern, name); matches {
			found[name] = content
		}
	}
	return found
}

type list []string

func (l *list) String() string         { return strings.Join(*l, ",") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

// merge puts values over others, as helm does: tables are merged. Over the chart's defaults, null removes a key.
func merge(over, below object, belowIsDefault bool) object {
	for key, value := range below {
		given, isGiven := over[key]
		table, isTable := given.(object)
		tableBelow, isTableBelow := value.(object)
		switch {
		case !isGiven:
			over[key] = value
		case given == nil && belowIsDefault:
			delete(over, key)
		case isTable && isTableBelow:
			over[key] = merge(table, tableBelow, belowIsDefault)
		}
	}
	return over
}

// readYAML reads a file with one table; an empty file is an empty table.
func readYAML(name string) (object, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	table := object{}
	if err := yaml.Unmarshal(content, &table); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return table, nil
}

func toYAML(value interface{}) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

func functions(engine *template.Template) template.FuncMap {
	funcs := sprig.TxtFuncMap()
	// Helm leaves these out, because a chart must not read the machine's secrets.
	delete(funcs, "env")
	delete(funcs, "expandenv")
	funcs["toYaml"] = toYAML
	funcs["fromYaml"] = func(text string) object {
		table := object{}
		if err := yaml.Unmarshal([]byte(text), &table); err != nil {
			table["Error"] = err.Error()
		}
		return table
	}
	funcs["fromYamlArray"] = func(text string) []interface{} {
		array := []interface{}{}
		if err := yaml.Unmarshal([]byte(text), &array); err != nil {
			array = []interface{}{err.Error()}
		}
		return array
	}
	funcs["include"] = func(name string, data interface{}) (string, error) {
		var text strings.Builder
		err := engine.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	funcs["tpl"] = func(text string, data interface{}) (string, error) {
		copy, err := engine.Clone()
		if err != nil {
			return "", err
		}
		parsed, err := copy.New("tpl").Parse(text)
		if err != nil {
			return "", err
		}
		var result strings.Builder
		err = parsed.Execute(&result, data)
		return strings.ReplaceAll(result.String(), "<no value>", ""), err
	}
	funcs["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return value, fmt.Errorf("%s", message)
		}
		return value, nil
	}
	funcs["fail"] = func(message string) (string, error) { return "", fmt.Errorf("%s", message) }
	funcs["lookup"] = func(string, string, string, string) (object, error) { return object{}, nil }
	return funcs
}

// readFiles reads the files under a folder, by their path from there.
func readFiles(folder string) (files, error) {
	found := files{}
	return found, filepath.Walk(folder, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		relative, _ := filepath.Rel(folder, name)
		found[filepath.ToSlash(relative)], err = os.ReadFile(name)
		return err
	})
}

// chartObject is Chart.yaml as templates see it: with capital letters.
func chartObject(metadata object) object {
	chart := object{}
	for key, value := range metadata {
		chart[strings.ToUpper(key[:1])+key[1:]] = value
	}
	chart["APIVersion"] = metadata["apiVersion"]
	return chart
}

func checkKubeVersion(constraint interface{}, version string) error {
	text, isGiven := constraint.(string)
	if !isGiven {
		return nil
	}
	parsed, err := semver.NewConstraint(text)
	if err != nil {
		return err
	}
	kubernetes, err := semver.NewVersion(version)
	if err != nil {
		return err
	}
	if !parsed.Check(kubernetes) {
		return fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", text, version)
	}
	return nil
}

// render returns the text of each template, by its path in the chart.
func render(name string, content files, data object) (map[string]string, error) {
	engine := template.New("chart").Option("missingkey=zero")
	engine.Funcs(functions(engine))
	names := []string{}
	for file := range content {
		if !strings.HasPrefix(file, "templates/") {
			continue
		}
		if _, err := engine.New(path.Join(name, file)).Parse(string(content[file])); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(path.Base(file), "_") {
			names = append(names, file)
		}
	}
	// Helm's order: the names backwards. The first error ends it.
	sort.Sort(sort.Reverse(sort.StringSlice(names)))
	texts := map[string]string{}
	for _, file := range names {
		data["Template"] = object{"Name": path.Join(name, file), "BasePath": path.Join(name, "templates")}
		var text bytes.Buffer
		if err := engine.ExecuteTemplate(&text, path.Join(name, file), data); err != nil {
			return nil, fmt.Errorf("execution error: %w", err)
		}
		texts[path.Join(name, file)] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	return texts, nil
}

func run() error {
	chart := flag.String("chart", "", "folder of the chart")
	release := flag.String("release", "release-name", "name of the release")
	namespace := flag.String("namespace", "default", "namespace of the release")
	version := flag.String("kube-version", "v1.30.0", "version of Kubernetes")
	notes := flag.Bool("notes", false, "print NOTES.txt alone")
	merged := flag.Bool("merged", false, "print the merged values as JSON, and render nothing")
	var given list
	flag.Var(&given, "values", "file with values; may be repeated")
	flag.Parse()

	values := object{}
	for _, file := range given {
		over, err := readYAML(file)
		if err != nil {
			return err
		}
		values = merge(over, values, false)
	}
	defaults, err := readYAML(filepath.Join(*chart, "values.yaml"))
	if err != nil {
		return err
	}
	values = merge(values, defaults, true)
	if *merged {
		return json.NewEncoder(os.Stdout).Encode(values)
	}
	metadata, err := readYAML(filepath.Join(*chart, "Chart.yaml"))
	if err != nil {
		return err
	}
	if err := checkKubeVersion(metadata["kubeVersion"], *version); err != nil {
		return err
	}
	content, err := readFiles(*chart)
	if err != nil {
		return err
	}
	parts := strings.SplitN(strings.TrimPrefix(*version, "v"), ".", 3)
	texts, err := render(fmt.Sprint(metadata["name"]), content, object{
		"Values": values,
		"Chart":  chartObject(metadata),
		"Files":  content,
		"Release": object{
			"Name": *release, "Namespace": *namespace, "Service": "Helm", "Revision": 1, "IsInstall": true,
			"IsUpgrade": false,
		},
		"Capabilities": capabilities{
			KubeVersion: kubeVersion{*version, parts[0], parts[1]}, APIVersions: versionSet{"v1", "apps/v1"},
			HelmVersion: object{"Version": "v3.15.0"},
		},
	})
	if err != nil {
		return err
	}
	names := []string{}
	for name := range texts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		isNotes := path.Base(name) == "NOTES.txt"
		if isNotes && *notes {
			fmt.Print(texts[name])
		} else if !isNotes && !*notes && strings.TrimSpace(texts[name]) != "" {
			fmt.Printf("---\n# Source: %s\n%s\n", name, strings.TrimSpace(texts[name]))
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
