import Foundation
import ObjectModel
import XCTest

/// Files that the tool's commands replace keep their owner and permissions.
final class PreservedOwnerTests: XCTestCase {
  /// The owner that root assigns to files. Other users test the permissions only.
  private var owner: uid_t { getuid() == 0 ? 65_534 : getuid() }
  private var group: gid_t { getuid() == 0 ? 1 : getgid() }

  private func status(_ path: String) throws -> String {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return "\(status.st_uid):\(status.st_gid) \(String(status.st_mode, radix: 8))"
  }

  private func expected(_ mode: mode_t) -> String { "\(owner):\(group) \(String(S_IFREG | mode, radix: 8))" }

  private func give(_ path: String, mode: mode_t) {
    XCTAssertEqual(chown(path, owner, group), 0)
    XCTAssertEqual(chmod(path, mode), 0)
  }

  private func write(_ model: ManagedObjectModel, in tool: ToolFixture) throws -> String {
    let bundle = tool.path("M.xcdatamodeld")
    try VersionedModel(name: "M", versions: [.init(name: "M", model: model)], currentVersionName: "M").write(to: URL(filePath: bundle))
    return bundle
  }

  private let model = ManagedObjectModel {
    Entity("B") { Attribute("x", .string) }
    Entity("A") { Attribute("x", .string) }
  }

  func testFormattedModelsKeepOwnerAndModeEvenThroughLinks() throws {
    let tool = try ToolFixture()
    let bundle = try write(model, in: tool)
    let contents = bundle + "/M.xcdatamodel/contents"
    let elsewhere = tool.path("elsewhere")
    try FileManager.default.moveItem(atPath: contents, toPath: elsewhere)
    try FileManager.default.createSymbolicLink(atPath: contents, withDestinationPath: elsewhere)
    give(elsewhere, mode: 0o664)
    let run = try tool.run(["model", "format", "--sort", bundle], passphrase: nil)
    XCTAssertEqual(run.output, "M.xcdatamodel: formatted\n", run.error)
    XCTAssertEqual(try status(elsewhere), expected(0o664))
    XCTAssertEqual(try FileManager.default.destinationOfSymbolicLink(atPath: contents), elsewhere)
  }

  func testBundlesKeepOwnerAndModeWhenAVersionIsAdded() throws {
    let tool = try ToolFixture()
    let bundle = try write(model, in: tool)
    let list = bundle + "/.xccurrentversion"
    give(list, mode: 0o640)
    XCTAssertEqual(try tool.run(["model", "add-version", bundle], passphrase: nil).status, 0)
    XCTAssertEqual(try status(list), expected(0o640))
  }

  func testReplacedClassFilesKeepOwnerAndMode() throws {
    let tool = try ToolFixture()
    let bundle = try write(model, in: tool)
    let folder = tool.path("Classes")
    let generate = ["generate", bundle, "--output", folder]
    XCTAssertEqual(try tool.run(generate, passphrase: nil).status, 0)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder)
    XCTAssertFalse(files.isEmpty)
    for name in files {
      try Data("old".utf8).write(to: URL(filePath: folder + "/" + name))
      give(folder + "/" + name, mode: 0o604)
    }
    XCTAssertEqual(try tool.run(generate, passphrase: nil).status, 0)
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder).sorted(), files.sorted())
    for name in files {
      XCTAssertNotEqual(try Data(contentsOf: URL(filePath: folder + "/" + name)), Data("old".utf8), name)
      XCTAssertEqual(try status(folder + "/" + name), expected(0o604), name)
    }
  }

  func testInvalidOutputFoldersAreReported() throws {
    let tool = try ToolFixture()
    let bundle = try write(model, in: tool)
    let contents = bundle + "/M.xcdatamodel/contents"
    let blocked = tool.path("Classes")
    try FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: true)
    // A folder has the name of a class's file.
    XCTAssertEqual(try tool.run(["generate", bundle, "--output", blocked], passphrase: nil).status, 0)
    let name = try XCTUnwrap(try FileManager.default.contentsOfDirectory(atPath: blocked).first)
    try FileManager.default.removeItem(atPath: blocked + "/" + name)
    try FileManager.default.createDirectory(atPath: blocked + "/" + name, withIntermediateDirectories: true)
    let run = try tool.run(["generate", bundle, "--output", blocked], passphrase: nil)
    XCTAssertEqual(run.status, 73, run.error)
    XCTAssertTrue(run.error.contains(name), run.error)
    XCTAssertFalse(try FileManager.default.contentsOfDirectory(atPath: blocked).contains { $0.hasPrefix(".") })
    XCTAssertTrue(FileManager.default.fileExists(atPath: contents))
  }
}
