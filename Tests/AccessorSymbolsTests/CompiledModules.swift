import AccessorSymbols
import Foundation
import _TestSupport

/// Modules compiled in a temporary folder from the folder Fixtures or from source text, and their undefined symbols.
struct CompiledModules {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Fixtures")

  private let folder: URL

  /// Runs a closure with a temporary folder.
  static func with<Result>(_ body: (CompiledModules) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("symbols-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(CompiledModules(folder: folder))
  }

  /// The sources of a module in the folder Fixtures.
  static func files(of module: String) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(at: fixtures.appendingPathComponent(module), includingPropertiesForKeys: nil)
      .sorted { $0.path < $1.path }
  }

  /// The scanned sources of a module in the folder Fixtures.
  static func scanned(_ module: String) throws -> ScannedModule {
    ScannedModule(
      name: module,
      sources: try files(of: module).map { ScannedSource(try String(contentsOf: $0, encoding: .utf8), file: $0.path) })
  }

  /// Writes a source file to the folder.
  func write(_ text: String, as name: String) throws -> URL {
    let file = folder.appendingPathComponent(name)
    try text.write(to: file, atomically: true, encoding: .utf8)
    return file
  }

  /// Compiles a module, and returns the undefined symbols of its object file.
  func missingSymbols(of module: String, _ files: [URL], flags: [String] = []) throws -> Set<String> {
    let object = folder.appendingPathComponent("\(module).o")
    let compiled = try ProgramRun(
      [
        "swiftc", "-c", "-wmo", "-parse-as-library", "-module-name", module, "-I", folder.path, "-emit-module", "-emit-module-path",
        folder.appendingPathComponent("\(module).swiftmodule").path, "-o", object.path,
      ] + flags + files.map(\.path))
    guard compiled.status == 0 else { throw Failure(description: "\(module) does not compile:\n" + Self.errors(in: compiled.output)) }
    let listed = try ProgramRun(["nm", "-u", object.path])
    guard listed.status == 0 else { throw Failure(description: listed.output) }
    return Set(listed.output.split(whereSeparator: \.isWhitespace).map(String.init).filter { $0.hasPrefix("$s") })
  }

  /// Compiles and links modules into a program, runs it, and returns its output.
  func output(of module: String, _ files: [URL], linking others: [String], flags: [String] = []) throws -> String {
    let program = folder.appendingPathComponent("program")
    let compiled = try ProgramRun(
      ["swiftc", "-module-name", module, "-I", folder.path, "-o", program.path] + flags + files.map(\.path)
        + others.map { folder.appendingPathComponent("\($0).o").path })
    guard compiled.status == 0 else { throw Failure(description: "\(module) does not compile:\n" + Self.errors(in: compiled.output)) }
    let run = try ProgramRun([program.path])
    guard run.status == 0 else { throw Failure(description: "the program ended with \(run.status):\n\(run.output)") }
    return run.output
  }

  /// The symbols of the last linked program.
  func programSymbols() throws -> [String] {
    let listed = try ProgramRun(["nm", folder.appendingPathComponent("program").path])
    guard listed.status == 0 else { throw Failure(description: listed.output) }
    return listed.output.split(separator: "\n").compactMap { $0.split(separator: " ").last.map(String.init) }
  }

  private static func errors(in text: String) -> String {
    text.split(separator: "\n").filter { $0.first != " " && $0.contains("error: ") }.joined(separator: "\n")
  }
}

extension ManagedAccessor {
  /// The symbols that compiled code uses to call the accessor.
  var symbols: [String] {
    switch kind {
    case .property(_, let getter, let setter): [getter, setter]
    case .method(_, _, _, let symbol): [symbol]
    }
  }

  /// A function that uses the property: symbols of extensions are referenced only where they are used.
  func use(_ number: Int) -> String {
    let lines = ["func use\(number)(_ object: \(owner.text)) {", use, "}"]
    return (conditions.map { "#if " + $0 } + lines + conditions.map { _ in "#endif" }).joined(separator: "\n") + "\n"
  }

  private var use: String {
    switch kind {
    case .property: "  do { let value = object.`\(name)`; object.`\(name)` = value }"
    case .method(let labels, let parameters, let result, _):
      """
        do { let method: (\(parameters.map(\.text).joined(separator: ", "))) -> \(result.text) = \
      object.\(name)\(labels.isEmpty ? "" : "(\(labels.map { ($0 ?? "_") + ":" }.joined()))"); keep(method) }
      """
    }
  }

  /// Whether code in another file can use it.
  var isSeenEverywhere: Bool { setterAccess > .fileprivate }
}
