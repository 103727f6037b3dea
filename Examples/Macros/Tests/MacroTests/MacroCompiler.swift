// MacroCompiler: compiles programs that use the macros of this build.
import Foundation
import XCTest

/// Nothing can be shown without the macros of this build.
struct NoMacros: Error, CustomStringConvertible {
  var description: String {
    "this build keeps the program of the macros elsewhere than beside the test bundle; teach `MacroCompiler` the place"
  }
}

/// The Swift compiler, with the modules and macros of this build.
struct MacroCompiler {
  static let fixtures = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
    .appendingPathComponent("Fixtures")
  /// Where the build keeps its modules and the macros' program.
  private let build: URL

  /// - Throws: ``NoMacros`` where the build lies elsewhere.
  init(for test: AnyClass) throws {
    for start in [Bundle(for: test).bundleURL, Bundle.main.bundleURL, URL(fileURLWithPath: CommandLine.arguments[0])] {
      var folder = start
      for _ in 0..<4 {
        if FileManager.default.fileExists(atPath: folder.appendingPathComponent("CipherDataMacros-tool").path) {
          build = folder
          return
        }
        folder.deleteLastPathComponent()
      }
    }
    throw NoMacros()
  }

  /// What the compiler says of a program.
  ///
  /// - Parameters:
  ///   - source: The program.
  ///   - name: What its file and module are called.
  ///   - flags: Further arguments, such as the language mode. `-typecheck` stops before the checks of isolation that follow values, `-emit-sil` behind them.
  func check(_ source: String, named name: String, flags: [String]) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(name)-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("\(name).swift")
    try source.write(to: file, atomically: true, encoding: .utf8)
    var arguments = [
      "swiftc", "-parse-as-library", "-module-name", "Checked", "-D", "DEBUG", "-diagnostic-style", "llvm", "-I",
      build.appendingPathComponent("Modules").path, "-load-plugin-executable",
      build.appendingPathComponent("CipherDataMacros-tool").path + "#CipherDataMacros",
    ]
    arguments += try Self.modulesOfC().flatMap { ["-I", $0.path] }
    arguments += try run(["pkg-config", "--cflags", "sqlcipher", "libcrypto"]).split(whereSeparator: \.isWhitespace).flatMap {
      ["-Xcc", String($0)]
    }
    return try run(arguments + flags + [file.path])
  }

  /// The folders of the library's sources that are modules of C.
  private static func modulesOfC() throws -> [URL] {
    let sources = (0..<5).reduce(fixtures) { folder, _ in folder.deletingLastPathComponent() }.appendingPathComponent("Sources")
    return try FileManager.default.contentsOfDirectory(at: sources, includingPropertiesForKeys: nil)
      .filter { FileManager.default.fileExists(atPath: $0.appendingPathComponent("module.modulemap").path) }
  }

  private func run(_ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text
  }
}
