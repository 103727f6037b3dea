// The tool of the build plugin GenerateManagedObjects. It generates the typed classes of a target's models as one file.
import Foundation
import ModelCodeGeneration
import ObjectModel

/// The parsed command line.
struct Arguments {
  var model: String?
  var configuration: String?
  var package: String?
  var planned: Set<String> = []
  var output: String?
  var name: String?
  var options = CodeGenerationOptions()

  static let usage = """
    usage: generate-managed-objects --model MODEL --output FILE [--name NAME] [--access open|public|package|internal]
           [--module MODULE] [--import MODULE]...
           generate-managed-objects --configuration FILE --package FOLDER --output FILE [--access open|public|package|internal]
           [--module MODULE] [--planned FILE]...
    """

  /// Parses the arguments; `nil` if they are invalid.
  init?(_ arguments: [String]) {
    var rest = arguments[...]
    while let flag = rest.popFirst() {
      guard let value = rest.popFirst() else { return nil }
      switch flag {
      case "--model": model = value
      case "--configuration": configuration = value
      case "--package": package = value
      case "--planned": planned.insert(URL(fileURLWithPath: value).standardizedFileURL.path)
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
    guard output != nil, (model == nil) != (configuration == nil), (configuration == nil) == (package == nil) else { return nil }
  }
}

func say(_ message: String) { FileHandle.standardError.write(Data((message + "\n").utf8)) }

func fail(_ message: String, _ code: Int32) -> Never {
  say(message)
  exit(code)
}

/// Returns the position of an entity or a property in a model file as `path:line:column`.
func place(in url: URL, _ entity: String?, _ property: String?) -> String {
  (try? ModelFileLocations(ofModelAt: url))?.location(entity: entity, property: property).description ?? url.path
}

/// Reads a model. Errors have the form that build systems parse: `path:line:column: error: reason`.
func generator(of url: URL, name: String?, _ options: CodeGenerationOptions) -> ModelCodeGenerator {
  do {
    return try ModelCodeGenerator(contentsOf: url, name: name, options: options)
  } catch let error as ModelFileError {
    let place = [error.path ?? url.path, error.line.map(String.init), error.column.map(String.init)].compactMap { $0 }.joined(
      separator: ":")
    fail("\(place): error: \(error.reason)", 65)
  } catch let error as ModelValidationError {
    fail(error.issues.map { "\(place(in: url, $0.entityName, $0.propertyName)): error: \($0)" }.joined(separator: "\n"), 65)
  } catch let error as CodeGenerationError {
    fail("\(place(in: url, error.entityName, error.attributeName)): error: \(error)", 65)
  } catch {
    fail("\(url.path): error: \(error)", 65)
  }
}

/// Reports likely mistakes in a model file. Errors of reading the file are reported where the model is read.
func printFindings(in url: URL, areErrors: Bool) {
  guard let findings = try? ModelFileLint.findings(inModelAt: url), !findings.isEmpty else { return }
  let kind = areErrors ? "error" : "warning"
  let lines = findings.map { "\($0.location): \(kind): \(areErrors ? $0.problem : $0.reason)" }.joined(separator: "\n")
  if areErrors { fail(lines, 65) } else { say(lines) }
}

/// Returns the generators for the models of a configuration file.
func generators(_ file: String, package: String, _ arguments: Arguments) -> [(file: URL, generator: ModelCodeGenerator)] {
  guard let data = FileManager.default.contents(atPath: file) else { fail("\(file): error: the file cannot be read", 66) }
  let configuration: PluginConfiguration
  do { configuration = try PluginConfiguration(data, access: arguments.options.access) } catch { fail("\(file):\(error)", 65) }
  return configuration.models.map { model in
    let url =
      (model.path.hasPrefix("/") ? URL(fileURLWithPath: model.path) : URL(fileURLWithPath: package).appendingPathComponent(model.path))
      .standardizedFileURL
    guard FileManager.default.fileExists(atPath: url.path) else {
      fail("\(file):\(model.line): error: there is no model \(url.path); paths are relative to the package's folder", 65)
    }
    if !arguments.planned.contains(url.path) {
      say(
        "\(file):\(model.line): warning: the build was planned before \(url.lastPathComponent) was there, and does not see edits of it alone; "
          + "save Package.swift again to plan it again")
    }
    var options = model.options
    options.moduleName = options.moduleName ?? arguments.options.moduleName
    printFindings(in: url, areErrors: model.isStrict)
    return (url, generator(of: url, name: model.name, options))
  }
}

guard let arguments = Arguments(Array(CommandLine.arguments.dropFirst())), let output = arguments.output else { fail(Arguments.usage, 64) }
let file = URL(fileURLWithPath: output)
let made: [(file: URL, generator: ModelCodeGenerator)]
if let configuration = arguments.configuration, let package = arguments.package {
  made = generators(configuration, package: package, arguments)
} else {
  let url = URL(fileURLWithPath: arguments.model ?? "")
  printFindings(in: url, areErrors: false)
  made = [(url, generator(of: url, name: arguments.name, arguments.options))]
}
do {
  let source = Data(try ModelCodeGenerator.source(of: made.map(\.generator), fileName: file.lastPathComponent).utf8)
  // An unchanged file is not written, so that it is not compiled again.
  if FileManager.default.contents(atPath: output) != source {
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try FileReplacement.write(source, to: file)
  }
} catch let error as CodeGenerationError {
  let model = made.map(\.file).first { file in
    guard let entity = error.entityName, let locations = try? ModelFileLocations(ofModelAt: file) else { return false }
    return locations.describes(entity)
  }
  let location = model.map { place(in: $0, error.entityName, error.attributeName) }
  fail("\(location ?? arguments.configuration ?? arguments.model ?? output): error: \(error)", 65)
} catch let error as ModelFileError {
  fail("\(error.path ?? output): error: \(error.reason)", 73)
} catch {
  fail("\(output): error: \(error.localizedDescription)", 73)
}
