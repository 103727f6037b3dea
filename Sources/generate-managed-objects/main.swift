// generate-managed-objects: the build-tool plugin's tool; it writes the typed classes of a model into one file.
import Foundation
import ModelCodeGeneration
import ObjectModel

/// What the command line asks for.
struct Arguments {
  var model: String?
  var output: String?
  var name: String?
  var options = CodeGenerationOptions()

  static let usage = """
    usage: generate-managed-objects --model MODEL --output FILE [--name NAME] [--access open|public|package|internal]
           [--module MODULE] [--import MODULE]...
    """

  /// Reads the arguments; nil when they make no sense.
  init?(_ arguments: [String]) {
    var rest = arguments[...]
    while let flag = rest.popFirst() {
      guard let value = rest.popFirst() else { return nil }
      switch flag {
      case "--model": model = value
      case "--output": output = value
      case "--name": name = value
      case "--module": options.moduleName = value
      case "--import": options.imports.append(value)
      case "--access":
        guard let access = CodeGenerationOptions.Access(rawValue: value) else { return nil }
        options.access = access
      default: return nil
      }
    }
    guard model != nil, output != nil else { return nil }
  }
}

func fail(_ message: String, _ code: Int32) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(code)
}

guard let arguments = Arguments(Array(CommandLine.arguments.dropFirst())), let path = arguments.model, let output = arguments.output else {
  fail(Arguments.usage, 64)
}
do {
  let url = URL(fileURLWithPath: path)
  let model = try ManagedObjectModel(contentsOf: url)
  let name = arguments.name ?? url.deletingPathExtension().lastPathComponent
  let source = try ModelCodeGenerator(model: model, name: name, options: arguments.options).source()
  let file = URL(fileURLWithPath: output)
  try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
  try Data(source.utf8).write(to: file, options: .atomic)
} catch let error as ModelFileError {
  // Build systems read `path:line: error: reason`.
  let place = [error.path ?? path, error.line.map(String.init)].compactMap { $0 }.joined(separator: ":")
  fail("\(place): error: \(error.reason)", 65)
} catch let error as ModelValidationError {
  fail(error.issues.map { "\(path): error: \($0)" }.joined(separator: "\n"), 65)
} catch let error as CodeGenerationError {
  fail("\(path): error: \(error)", 65)
} catch {
  fail("\(output): error: \(error.localizedDescription)", 73)
}
