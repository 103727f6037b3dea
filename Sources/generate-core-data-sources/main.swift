// The tool of the build plugin CoreDataSources. It generates the symbols to which a module's `@NSManaged` declarations are linked.
import AccessorSymbols
import Foundation

/// The parsed command line: the module and its dependencies, each with its sources.
struct SourceArguments {
  var modules: [(name: String, sources: [String], models: [String])] = []
  var output = ""

  static let usage =
    "usage: generate-core-data-sources --output FILE --module NAME [--source FILE | --model BUNDLE]... [--module NAME ...]..."

  /// Parses the arguments; `nil` if they are invalid.
  init?(_ arguments: [String]) {
    var rest = arguments[...]
    while let flag = rest.popFirst() {
      guard let value = rest.popFirst() else { return nil }
      switch flag {
      case "--output": output = value
      case "--module": modules.append((value, [], []))
      case "--source":
        guard !modules.isEmpty else { return nil }
        modules[modules.count - 1].sources.append(value)
      case "--model":
        guard !modules.isEmpty else { return nil }
        modules[modules.count - 1].models.append(value)
      default: return nil
      }
    }
    guard !output.isEmpty, !modules.isEmpty else { return nil }
  }
}

func fail(_ message: String, _ code: Int32) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(code)
}

guard let arguments = SourceArguments(Array(CommandLine.arguments.dropFirst())) else { fail(SourceArguments.usage, 64) }
/// Returns the generated classes of a module's models.
func classes(of models: [String]) -> [EntityClassSource] {
  models.map { path in
    let url = URL(fileURLWithPath: path)
    for warning in EntityClassSource.warnings(ofModelAt: url) { FileHandle.standardError.write(Data((warning + "\n").utf8)) }
    let mistakes = EntityClassSource.mistakes(ofModelAt: url)
    if !mistakes.isEmpty { fail(mistakes.joined(separator: "\n"), 65) }
    do { return try EntityClassSource(modelAt: url) } catch { fail("\(path): error: \(error)", 65) }
  }
}

let generated = arguments.modules.map { classes(of: $0.models) }
let modules = zip(arguments.modules, generated).map { module, classes in
  ScannedModule(
    name: module.name,
    sources: module.sources.map { path in
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { fail("\(path): error: the source cannot be read", 66) }
      return ScannedSource(text, file: path)
    } + [ScannedSource(classes.map(\.text).joined(), file: "\(module.name).xcdatamodeld", hasOwnAccessors: true)])
}
let text = generated[0].map(\.implementation).joined()
let source = AccessorSource(ManagedAccessors(of: modules[0], dependencies: Array(modules.dropFirst())), of: modules[0])
if !source.issues.isEmpty { fail(source.issues.map(\.description).joined(separator: "\n"), 65) }
do { try (source.text + text).write(toFile: arguments.output, atomically: true, encoding: .utf8) } catch {
  fail("\(arguments.output): error: \(error.localizedDescription)", 73)
}
