import Foundation
import XCTest

/// The macros of this build are missing, so nothing can be verified.
struct NoMacros: Error, CustomStringConvertible {
  var description: String {
    "The program of the macros is not next to the test bundle. Update the path in `MacroCompiler`."
  }
}

/// The Swift compiler, with the modules and macros of this build.
struct MacroCompiler {
  static let fixtures = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
    .appendingPathComponent("Fixtures")
  /// The folder with the build's modules and the macros' program.
  private let build: URL

  /// - Throws: ``NoMacros`` if the build is in another location.
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

  /// Returns the compiler's diagnostics for a program.
  ///
  /// - Parameters:
  ///   - source: The program.
  ///   - name: The name of its file and module.
  ///   - flags: Further arguments, such as the language mode. `-typecheck` stops before region-based isolation checks, `-emit-sil` after
  ///     them.
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

  /// The source folders of C modules in the library.
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
