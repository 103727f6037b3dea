import Foundation
import XCTest
import _TestSupport

/// The modules of this build are missing, so nothing can be verified.
struct NoModules: Error, CustomStringConvertible {
  var description: String {
    "this build does not place its modules next to the test bundle; build with `swift build --build-tests`, or add the path to `Compiler`"
  }
}

/// The Swift compiler, with the location of this build's modules.
struct Compiler {
  /// The repository's folder.
  static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private let modules: URL
  private let clangFlags: [String]

  init() throws {
    modules = try Self.findModules()
    clangFlags = try ProgramRun(["pkg-config", "--cflags", "sqlcipher", "libcrypto"]).output.split(whereSeparator: \.isWhitespace)
      .flatMap { ["-Xcc", String($0)] }
  }

  /// Compiles through the isolation checks. Returns the status and the lines with errors and warnings.
  func check(_ files: [URL], flags: [String] = []) throws -> (status: Int32, diagnostics: [String]) {
    // Not a device such as /dev/null: a failing compiler removes its output.
    let output = FileManager.default.temporaryDirectory.appendingPathComponent("checked-\(UUID().uuidString).sil")
    defer { try? FileManager.default.removeItem(at: output) }
    var arguments = [
      "swiftc", "-emit-sil", "-wmo", "-o", output.path, "-swift-version", "6", "-module-name", "Checked", "-I", modules.path,
    ]
    arguments += try Self.modulesOfC().flatMap { ["-I", $0.path] }
    let run = try ProgramRun(arguments + clangFlags + flags + files.map(\.path))
    let lines = run.output.split(separator: "\n").map(String.init)
    // The source lines and remarks after a diagnostic are indented.
    return (run.status, lines.filter { $0.first != " " && ($0.contains("error: ") || $0.contains("warning: ")) })
  }

  /// The source folders of C modules.
  private static func modulesOfC() throws -> [URL] {
    try FileManager.default.contentsOfDirectory(at: root.appendingPathComponent("Sources"), includingPropertiesForKeys: nil)
      .filter { FileManager.default.fileExists(atPath: $0.appendingPathComponent("module.modulemap").path) }
  }

  /// The folder `Modules` next to the test bundle.
  private static func findModules() throws -> URL {
    for start in [Bundle(for: IsolationTests.self).bundleURL, Bundle.main.bundleURL, URL(fileURLWithPath: CommandLine.arguments[0])] {
      var folder = start
      for _ in 0..<4 {
        let modules = folder.appendingPathComponent("Modules")
        if FileManager.default.fileExists(atPath: modules.appendingPathComponent("ObjectContext.swiftmodule").path) { return modules }
        folder.deleteLastPathComponent()
      }
    }
    throw NoModules()
  }
}
