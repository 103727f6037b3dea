import CipherDataToolKit
import Foundation
import ObjectModel
import StoreKeys
import XCTest

/// The result of a run of the tool.
struct ToolResult: Sendable {
  let status: Int32
  let output: String
  let error: String
}

/// A folder with passphrase files and, after `makeStore`, a store. The built tool runs in it as a process.
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

  /// Writes a model to a file of the format that Xcode writes.
  func write(_ model: ManagedObjectModel, to name: String) throws {
    try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: false)
    try model.xmlData().write(to: URL(fileURLWithPath: path(name) + "/contents"))
  }

  /// Makes a store whose key derivation is cheap, so that runs do not take a second each.
  func makeStore(_ model: String = "DebianArchive") async throws { try await makeStore(of: try TestStack.model(model)) }

  /// Makes such a store for a model, by default at ``store``.
  func makeStore(of model: ManagedObjectModel, at name: String = "test.store") async throws {
    let key = StoreKey.passphrase(Self.passphrase, .cheapForTests())
    try await StoreCreation.create(URL(fileURLWithPath: path(name)), model: model, key: key)
  }

  /// A fixture whose store contains the packages of ``PackageImportTests``.
  static func withPackages() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index)
    return fixture
  }

  /// The executable next to the test bundle.
  static var executable: URL {
    get throws {
      let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      let candidates = [
        bundle, Bundle(for: ToolFixture.self).bundleURL, Bundle(for: ToolFixture.self).bundleURL.deletingLastPathComponent(),
      ]
      let found = candidates.map { $0.appendingPathComponent("cipherdata") }.first { FileManager.default.isExecutableFile(atPath: $0.path) }
      return try XCTUnwrap(found, "the tool was not built next to the tests")
    }
  }

  /// The environment variables that the tool's process inherits: the library path, since the suite can run with SQLCipher in another
  /// folder, and the options of sanitizers.
  static var keptEnvironment: [String: String] {
    ProcessInfo.processInfo.environment.filter { $0.key == "LD_LIBRARY_PATH" || $0.key.hasSuffix("SAN_OPTIONS") }
  }

  /// Runs the tool in the folder, by default with the store's passphrase.
  ///
  /// - Parameter wrapper: The absolute path of a program that runs the tool, for example with other privileges or fewer resources, and its
  ///   arguments.
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

  /// Runs the tool in a folder. Several tasks may call this concurrently.
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
    // Files instead of pipes: no process waits for another one to read.
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
