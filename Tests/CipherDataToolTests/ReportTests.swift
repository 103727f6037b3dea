import CipherDataToolKit
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest

/// `cipherdata report` and the diagrams of models.
final class ReportTests: XCTestCase {
  private func store() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    // Some values exceed a page.
    let long = String(repeating: "verylongword ", count: 1_500)
    let stanzas = (0..<150).map { number in
      "Package: secretname\(number)\nVersion: 1\nArchitecture: amd64\nMaintainer: Someone <m\(number % 7)@x>\nDescription: \(number % 9 == 0 ? long : "short")\n"
    }
    XCTAssertEqual(
      try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: stanzas.joined(separator: "\n")).status, 0)
    return fixture
  }

  func testEveryPageInUseBelongsToATableOrAnIndex() async throws {
    let fixture = try await store()
    let file = try await SQLCipherStoreFile.unlock(
      at: URL(fileURLWithPath: fixture.store), key: .passphrase(ToolFixture.passphrase))
    let (usage, information) = (try await file.usage(), try await file.information())
    // The first page contains the list of tables, whose pages belong to no table.
    let pages = usage.reduce(0) { $0 + $1.bytes } / information.encryption.pageSize
    let used = information.pageCount - information.freePageCount
    XCTAssertLessThan(pages, used)
    XCTAssertGreaterThanOrEqual(pages, used - 4)
    XCTAssertEqual(usage.map(\.bytes), usage.map(\.bytes).sorted(by: >))
    XCTAssertEqual(usage.first { $0.name == "Package" }?.kind, .table)
    XCTAssertEqual(usage.first { $0.name == "Package_tags" }?.kind, .members)
    XCTAssertGreaterThan(usage.first { $0.name == "Package" }?.bytes ?? 0, 17 * 19_000)
  }

  func testReportContainsNoValuesByDefaultAndFetchesNoResources() async throws {
    let fixture = try await store()
    let result = try fixture.run(["report", "test.store", "-o", "r.html", "--where", "Package: name == \"secretname3\""])
    XCTAssertEqual(result.status, 0, result.error)
    let page = try String(contentsOfFile: fixture.path("r.html"), encoding: .utf8)
    for value in ["secretname", "verylongword", "Someone"] { XCTAssertFalse(page.contains(value), value) }
    for text in [
      "<svg ", ">Package<", "150 objects", "Objects by entity", "Bytes by table and index", "Bytes by file", "default-src 'none'",
    ] {
      XCTAssertTrue(page.contains(text), text)
    }
    for word in ["src=", "href=", "url(", "@import", "<script"] { XCTAssertFalse(page.contains(word), word) }
    let mode = try FileManager.default.attributesOfItem(atPath: fixture.path("r.html"))[.posixPermissions] as? NSNumber
    XCTAssertEqual(mode?.intValue, 0o600)

    let samples = try fixture.run(["report", "test.store", "-o", "-", "--samples", "2"])
    XCTAssertTrue(samples.output.contains("secretname0"), samples.error)
    XCTAssertFalse(samples.output.contains("secretname2"))
    XCTAssertTrue(samples.error.contains("NOT encrypted"))
  }

  func testReportListsThePagesAndCommitsOfTheLog() async throws {
    let fixture = try await store()
    let url = URL(fileURLWithPath: fixture.store)
    let file = try await SQLCipherStoreFile.unlock(at: url, key: .passphrase(ToolFixture.passphrase))
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: try await file.readModel())
    try await coordinator.addPersistentStore(with: PersistentStoreDescription(url: url, key: .passphrase(ToolFixture.passphrase)))
    let context = ManagedObjectContext(coordinator: coordinator)
    func commit(_ name: String) throws {
      try context.insertObject(entityName: "Tag").setValue(name, forKey: "name")
      try context.save()
    }
    try commit("first")
    let before = try await file.information()
    for name in ["second", "third", "fourth"] { try commit(name) }
    let after = try await file.information()
    XCTAssertEqual(after.logCommitCount, before.logCommitCount + 3)
    XCTAssertGreaterThanOrEqual(after.logPageCount, before.logPageCount + 3)
    XCTAssertLessThanOrEqual(after.logPageCount * after.encryption.pageSize, after.logSize)
    XCTAssertEqual(after.logPageLimit, 1_000)
    XCTAssertNotNil(after.logModified)
    let page = try fixture.run(["report", "test.store", "-o", "-"]).output
    for text in ["<h2>Log</h2>", "commits since the log was last restarted", "% of the database", "Pages in the log"] {
      XCTAssertTrue(page.contains(text), text)
    }
  }

  func testTheSynchronizationOfTheStoreIsReported() async throws {
    let fixture = try await SyncFixture.joined()
    func page(_ store: String) throws -> String {
      let result = try fixture.tool.run(["report", store, "-o", "-"])
      XCTAssertEqual(result.status, 0, result.error)
      return result.output
    }
    try fixture.update("A.store", "Folder", "title == 'root'", "title = 'secretone'")
    try await Task.sleep(for: .milliseconds(5))
    try fixture.update("B.store", "Folder", "title == 'root'", "title = 'secrettwo'")
    for store in ["B.store", "A.store", "B.store"] { try fixture.succeed("run", store) }
    try fixture.add(#"{"$entity":"Note","text":"secretthree"}"#, to: "A.store")
    // The hub is not needed.
    try fixture.moveHub(to: "away")
    let first = try page("A.store")
    for text in [
      "<h2>Synchronization</h2>", "<td>Device</td>", "<td>1 save with 1 change</td>", "<h2>Last rounds</h2>", "<td>export</td>",
      "<td>Lost values</td><td>1, in the journal</td>", "<td>Conflicts</td><td>1</td>", fixture.tool.path("hub.store"),
    ] {
      XCTAssertTrue(first.contains(text), text)
    }
    XCTAssertFalse(first.contains("secret"))
    XCTAssertTrue(try page("B.store").contains("<td>Lost values</td><td>none</td>"))
    try await fixture.tool.makeStore(of: SyncFixture.model, at: "C.store")
    XCTAssertFalse(try page("C.store").contains("Synchronization"))
  }

  func testUnusedIndexesAreReported() async throws {
    let fixture = try await store()
    func page(_ arguments: String...) throws -> String { try fixture.run(["report", "test.store", "-o", "-"] + arguments).output }
    func isUnused(_ name: String, _ page: String) -> Bool { page.contains("<li><b>\(name)</b>") }
    let without = try page("--where", "Tag: name == \"a\"")
    XCTAssertTrue(isUnused("byInstalledSize", without))
    let with = try page("--where", "Tag: name == \"a\"", "--where", "Package: installedSize > 1000")
    XCTAssertFalse(isUnused("byInstalledSize", with))
    XCTAssertEqual(try fixture.run(["report", "test.store", "-o", "-", "--where", "name == 1"]).status, 64)
    XCTAssertEqual(try fixture.run(["report", "test.store", "-o", "/nothing/here.html"]).status, 73)
  }

  // MARK: Diagrams

  private func models() throws -> [ManagedObjectModel] {
    try ["DebianArchive", "Messenger", "PhotoLibrary"].map { try TestStack.model($0) }
  }

  func testBoxesDoNotOverlapAndLinesConnectThem() throws {
    for model in try models() {
      var drawing = ModelDrawing(model)
      drawing.layOutInLayers()
      XCTAssertEqual(drawing.boxes.count, model.entities.count)
      for (index, a) in drawing.boxes.enumerated() {
        XCTAssertTrue(
          a.place.x - a.width / 2 >= 0 && a.place.x + a.width / 2 <= drawing.width && a.place.y + a.height / 2 <= drawing.height)
        for b in drawing.boxes[(index + 1)...] {
          let isApart =
            abs(a.place.x - b.place.x) >= (a.width + b.width) / 2 || abs(a.place.y - b.place.y) >= (a.height + b.height) / 2
          XCTAssertTrue(isApart, "\(a.name) covers \(b.name)")
        }
      }
      func touches(_ point: DrawingPoint, _ box: ModelDrawing.Box) -> Bool {
        abs(point.x - box.place.x) <= box.width / 2 + 1 && abs(point.y - box.place.y) <= box.height / 2 + 1
      }
      XCTAssertFalse(drawing.lines.isEmpty)
      for line in drawing.lines {
        XCTAssertTrue(try touches(XCTUnwrap(line.curve.first), drawing.boxes[line.from]), "\(drawing.boxes[line.from].name)")
        XCTAssertTrue(try touches(XCTUnwrap(line.curve.last), drawing.boxes[line.to]), "\(drawing.boxes[line.to].name)")
        XCTAssertEqual((line.curve.count - 1) % 3, 0)
      }
    }
  }

  func testCyclesAndLoopsAreDrawn() throws {
    var a = EntityDescription(name: "A<&>")
    a.properties = [
      .relationship(RelationshipDescription(name: "next", destination: "B")),
      .relationship(RelationshipDescription(name: "self", destination: "A<&>")),
    ]
    var b = EntityDescription(name: "B")
    b.properties = [.relationship(RelationshipDescription(name: "back", destination: "A<&>"))]
    let svg = ModelDrawing.svg(ManagedObjectModel(entities: [a, b]), usesGraphviz: false)
    XCTAssertTrue(svg.contains(">A&lt;&amp;&gt;</text>"))
    XCTAssertFalse(svg.contains("A<&"))
    let parser = XMLChecker()
    XCTAssertTrue(parser.isWellFormed(svg))
    XCTAssertEqual(svg.components(separatedBy: "class=\"line\"").count - 1, 3)
    XCTAssertEqual(ModelDrawing.svg(ManagedObjectModel(entities: []), usesGraphviz: false).contains("<svg"), true)
  }

  func testOutputOfGraphvizIsUsed() throws {
    let model = ManagedObjectModel(entities: [EntityDescription(name: "A"), EntityDescription(name: "B")])
    var drawing = ModelDrawing(model)
    XCTAssertFalse(drawing.take("graph 1 2 3\nnode n0 1 1 1 1\nstop\n"))
    XCTAssertTrue(drawing.take("graph 1 2 3\nnode n0 1 1 1 1\nnode n1 3 2 1 1\nstop\n"))
    XCTAssertEqual(drawing.boxes[1].place.x - drawing.boxes[0].place.x, 144, accuracy: 0.01)
    XCTAssertEqual(drawing.boxes[1].place.y - drawing.boxes[0].place.y, -72, accuracy: 0.01)
    var other = drawing
    XCTAssertFalse(other.layOutWithGraphviz(path: "/nowhere"))
  }

  func testTheToolDrawsAModel() throws {
    let fixture = try ToolFixture()
    let model = TestStack.schemas.appendingPathComponent("Messenger.xcdatamodeld").path
    let result = try fixture.run(["model", "diagram", model, "--format", "svg"], passphrase: nil)
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertTrue(result.output.hasPrefix("<svg "))
    XCTAssertTrue(XMLChecker().isWellFormed(result.output))
  }
}

/// Checks that every element is closed.
private struct XMLChecker {
  func isWellFormed(_ text: String) -> Bool {
    var open: [Substring] = []
    for match in text.matches(of: /<(\/?)([a-z]+)[^<>]*?(\/?)>/) {
      if !match.output.3.isEmpty { continue }
      if match.output.1.isEmpty { open.append(match.output.2) } else if open.popLast() != match.output.2 { return false }
    }
    return open.isEmpty
  }
}
