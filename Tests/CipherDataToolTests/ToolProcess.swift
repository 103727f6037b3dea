// The built tool as a process, and a folder with a store to run it on.
import CipherDataToolKit
import Foundation
import ObjectModel
import StoreKeys
import XCTest

/// What a run of the tool gave.
struct ToolResult: Sendable {
  let status: Int32
  let output: String
  let error: String
}

/// A folder with passphrase files and, once made, a store.
final class ToolFixture {
  static let passphrase = "correct horse battery staple"
  let folder: TemporaryFolder
  var store: String { path("test.store") }

  init() throws {
    folder = try TemporaryFolder()
    _ = try folder.file("passphrase", Self.passphrase + "\n")
    _ = try folder.file("other", "another passphrase\n")
  }

  func path(_ name: String) -> String { folder.url.appendingPathComponent(name).path }

  /// Makes a store whose key is cheap to derive, so that runs take no second each.
  func makeStore(_ model: String = "DebianArchive") async throws { try await makeStore(of: try TestStack.model(model)) }

  /// Makes such a store of a model, by default that of ``store``.
  func makeStore(of model: ManagedObjectModel, at name: String = "test.store") async throws {
    let key = StoreKey.passphrase(Self.passphrase, .cheapForTests())
    try await StoreCreation.create(URL(fileURLWithPath: path(name)), model: model, key: key)
  }

  /// A fixture whose store has the packages of ``PackageImportTests``.
  static func withPackages() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index)
    return fixture
  }

  /// The executable beside the test bundle.
  static var executable: URL {
    get throws {
      let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      let candidates = [
        bundle, Bundle(for: ToolFixture.self).bundleURL, Bundle(for: ToolFixture.self).bundleURL.deletingLastPathComponent(),
      ]
      let found = candidates.map { $0.appendingPathComponent("cipherdata") }.first { FileManager.default.isExecutableFile(atPath: $0.path) }
      return try XCTUnwrap(found, "the tool is not built beside the tests")
    }
  }

  /// What a tool's process has of the environment: where libraries are, as the suite may run on a SQLCipher in a folder of its own, and a sanitizer's settings.
  static var keptEnvironment: [String: String] {
    ProcessInfo.processInfo.environment.filter { $0.key == "LD_LIBRARY_PATH" || $0.key.hasSuffix("SAN_OPTIONS") }
  }

  /// Runs the tool in the folder, with the store's passphrase unless told otherwise.
  ///
  /// - Parameter wrapper: A program, by its whole path, and arguments of it, that runs the tool: to give it other rights or fewer resources.
  @discardableResult
  func run(
    _ arguments: [String], input: String? = nil, environment: [String: String] = [:], passphrase: String? = "passphrase",
    through wrapper: [String] = []
  ) throws
    -> ToolResult
  {
    let command = wrapper + [try Self.executable.path] + arguments + (passphrase.map { ["--passphrase-file", $0] } ?? [])
    return try Self.run(command, in: folder.url, input: input, environment: environment)
  }

  /// Runs the tool in a folder, also from several tasks at once.
  static func run(in folder: URL, _ arguments: [String], input: String? = nil) throws -> ToolResult {
    try run([try executable.path] + arguments, in: folder, input: input, environment: [:])
  }

  private static func run(_ command: [String], in folder: URL, input: String?, environment: [String: String]) throws -> ToolResult {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: command[0])
    process.currentDirectoryURL = folder
    process.arguments = Array(command.dropFirst())
    process.environment = environment.merging(keptEnvironment, uniquingKeysWith: { first, _ in first })
    let id = UUID().uuidString
    // Files in place of pipes: no process waits for another to read.
    let urls = ["in", "out", "err"].map { folder.appendingPathComponent("\(id).\($0)") }
    try Data((input ?? "").utf8).write(to: urls[0])
    for url in urls.dropFirst() { try Data().write(to: url) }
    let streams = try urls.map { try FileHandle(forUpdating: $0) }
    process.standardInput = streams[0]
    process.standardOutput = streams[1]
    process.standardError = streams[2]
    try process.run()
    process.waitUntilExit()
    let texts = try urls.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
    return ToolResult(status: process.terminationStatus, output: texts[1], error: texts[2])
  }
}
