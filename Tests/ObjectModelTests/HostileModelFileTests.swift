import Foundation
import XCTest
import _TestSupport

@testable import ObjectModel

/// Malicious model files, made to exhaust memory, confuse the parser or read other files.
final class HostileModelFileTests: XCTestCase {
  private func expect(_ xml: String, _ code: ModelFileError.Code, line: UInt = #line) {
    expect(Data(xml.utf8), code, line: line)
  }

  private func expect(_ data: Data, _ code: ModelFileError.Code, line: UInt = #line) {
    XCTAssertThrowsError(try ManagedObjectModel(xmlData: data), line: line) { error in
      XCTAssertEqual((error as? ModelFileError)?.code, code, "\(error)", line: line)
    }
  }

  func testExpandingXMLEntitiesAreRejected() {
    let lines = (1...9).map { "<!ENTITY lol\($0) \"" + String(repeating: "&lol\($0 - 1);", count: 10) + "\">" }.joined()
    expect("<?xml version=\"1.0\"?><!DOCTYPE m [<!ENTITY lol0 \"lol\">\(lines)]><model>&lol9;</model>", .unsafe)
    expect("<!DOCTYPE model [<!ENTITY a \"\(String(repeating: "x", count: 50_000))\">]><model a=\"&a;&a;&a;\"/>", .unsafe)
  }

  func testExternalEntitiesAreNotRead() {
    expect("<!DOCTYPE model [<!ENTITY x SYSTEM \"file:///etc/hostname\">]><model>&x;</model>", .unsafe)
    expect("<!DOCTYPE model SYSTEM \"file:///etc/hostname\"><model/>", .unsafe)
    expect("<!DOCTYPE model [<!ENTITY % x SYSTEM \"http://127.0.0.1:1/x\"> %x;]><model/>", .unsafe)
  }

  func testDeclarationsInOtherEncodingsAreRejected() {
    let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><!DOCTYPE model [<!ENTITY x \"y\">]><model>&x;</model>"
    for encoding in [String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf16, .utf32] {
      if let data = text.data(using: encoding) { expect(data, .malformed) }
    }
    expect("<?xml version=\"1.0\" encoding=\"UTF-7\"?><model/>", .unsafe)
    expect("<?xml version=\"1.0\" encoding='EBCDIC-CP-US'?><model/>", .unsafe)
    expect(Data("<model a=\"".utf8) + Data([0xFF, 0xFE]) + Data("\"/>".utf8), .malformed)
  }

  /// Foundation's parser crashes on a processing instruction without contents.
  func testProcessingInstructionsWithoutContentsAreRejected() throws {
    for instruction in ["<?xm?>", "<?x-y.z:\u{e9}?>", "<?xml?>", "<??>"] {
      expect(instruction + "<model/>", .malformed)
      expect("<?xml version=\"1.0\"?><model>\n<a b='1'/>" + instruction + "</model>", .malformed)
      expect("<model/>" + instruction, .malformed)
    }
    XCTAssertThrowsError(try ManagedObjectModel(xmlData: Data("<model>\n\n<?x?></model>".utf8))) { error in
      XCTAssertEqual((error as? ModelFileError)?.line, 3)
    }
    XCTAssertNoThrow(try Fixtures.model("<?xml version=\"1.0\"?><?xm ?><?x a?><model><?y\t?><a b='?>'/></model>"))
    for end in ["<?", "<?x", "<?x?", "<? ?>"] { expect("<model/>" + end, .malformed) }
  }

  func testDeepNestingIsRejected() {
    for depth in [65, 1_000, 100_000] {
      expect("<model>" + String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth) + "</model>", .tooLarge)
    }
    expect(String(repeating: "<a>", count: 100_000), .tooLarge)
    let allowed = "<model>" + String(repeating: "<a>", count: 60) + String(repeating: "</a>", count: 60) + "</model>"
    XCTAssertNoThrow(try Fixtures.model(allowed))
  }

  func testAttributesOfAHundredMegabytesAreRejectedBeforeParsing() throws {
    let data = Data("<model a=\"".utf8) + Data(repeating: UInt8(ascii: "x"), count: 100 << 20) + Data("\"/>".utf8)
    expect(data, .tooLarge)
    let file = try Fixtures.folder(self).appendingPathComponent("contents")
    // A sparse file: its length alone must cause the rejection.
    XCTAssertTrue(FileManager.default.createFile(atPath: file.path, contents: Data("<model/>".utf8)))
    let handle = try FileHandle(forWritingTo: file)
    try handle.truncate(atOffset: 8 << 30)
    try handle.close()
    XCTAssertThrowsError(try ManagedObjectModel(contentsOf: file)) { XCTAssertEqual(($0 as? ModelFileError)?.code, .tooLarge) }
  }

  func testTooManyElementsAreRejected() {
    expect("<model>" + String(repeating: "<a/>", count: 500_000) + "</model>", .tooLarge)
  }

  func testFilesTruncatedAnywhereAreRejected() throws {
    let data = Data(Fixtures.garden.utf8)
    for end in stride(from: 0, to: data.count - 1, by: 37) { expect(data.prefix(end), .malformed) }
    expect("<m><a>", .malformed)
    expect("<model>", .malformed)
  }

  func testFilesThatAreNotModelsAreRejected() throws {
    expect("", .malformed)
    expect("   ", .malformed)
    expect("plain text", .malformed)
    expect("<model/><model/>", .malformed)
    expect("<model a=\"1\" a=\"2\"/>", .malformed)
    expect("<html/>", .notAModel)
    expect(Data([0x7F, 0x45, 0x4C, 0x46, 0]), .malformed)
    let folder = try Fixtures.folder(self)
    try FileManager.default.createDirectory(at: folder.appendingPathComponent("contents"), withIntermediateDirectories: true)
    XCTAssertThrowsError(try ManagedObjectModel(contentsOf: folder)) { XCTAssertEqual(($0 as? ModelFileError)?.code, .unreadable) }
  }

  func testFlippedBytesNeverTrap() {
    var random = SeededGenerator(seed: 7)
    let original = [UInt8](Fixtures.garden.utf8)
    for _ in 0..<400 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      guard let model = try? ManagedObjectModel(xmlData: Data(bytes)) else { continue }
      if let compiled = try? CompiledModel(model) { XCTAssertEqual(compiled.entities.count, model.entities.count) }
      XCTAssertNoThrow(try ManagedObjectModel(xmlData: try model.xmlData()))
    }
  }

  func testInvalidModelsAreRejectedWithAllErrors() throws {
    let duplicate = try Fixtures.model("<model><entity name=\"E\"/><entity name=\"E\"/><entity parentEntity=\"Gone\"/></model>")
    XCTAssertEqual(duplicate.validationIssues().count, 3)
    let cycle = try Fixtures.model(
      "<model><entity name=\"A\" parentEntity=\"B\"/><entity name=\"B\" parentEntity=\"A\"/><entity name=\"C\" parentEntity=\"A\"/></model>"
    )
    XCTAssertEqual(cycle.validationIssues().map(\.entityName), ["A", "B"])
    XCTAssertThrowsError(try CompiledModel(cycle))
    let own = try Fixtures.model("<model><entity name=\"A\" parentEntity=\"A\"/></model>")
    XCTAssertThrowsError(try CompiledModel(own))
  }

  func testTenThousandEntitiesAreReadAndCompiled() throws {
    var model = ManagedObjectModel()
    for number in 0..<10_000 {
      // Hierarchies of 100 entities, three levels deep.
      let parent =
        number % 100 == 0 ? nil : number % 100 < 10 ? "E\(number / 100 * 100)" : "E\(number / 10 * 10 % 100 + number / 100 * 100)"
      var entity = EntityDescription(
        name: "E\(number)", superentity: number % 10 == 0 && number % 100 != 0 ? "E\(number / 100 * 100)" : parent)
      for attribute in 0..<4 {
        entity.properties.append(.attribute(AttributeDescription(name: "a\(number)_\(attribute)", type: .string, isOptional: true)))
      }
      entity.properties.append(
        .relationship(RelationshipDescription(name: "r\(number)", destination: "E\((number + 1) % 10_000)")))
      model.entities.append(entity)
    }
    let again = try ManagedObjectModel(xmlData: try model.xmlData())
    XCTAssertEqual(again.entities.count, 10_000)
    let compiled = try CompiledModel(again)
    XCTAssertEqual(compiled.relationships.count, 10_000)
  }

  func testInheritanceThatWouldExhaustMemoryIsRejected() {
    var chain = ManagedObjectModel()
    for number in 0..<10_000 {
      var entity = EntityDescription(name: "E\(number)", superentity: number == 0 ? nil : "E\(number - 1)")
      entity.properties = [.attribute(AttributeDescription(name: "a\(number)", type: .string))]
      chain.entities.append(entity)
    }
    XCTAssertEqual(chain.validationIssues().count, 10_000 - 1 - ModelValidation.maximumDepth)
    chain.entities[0].superentityName = "E9999"
    XCTAssertEqual(chain.validationIssues().count, 10_000)
    var wide = ManagedObjectModel(entities: [EntityDescription(name: "P")])
    for number in 0..<2_000 {
      wide.entities[0].properties.append(.attribute(AttributeDescription(name: "a\(number)", type: .string)))
      wide.entities.append(EntityDescription(name: "E\(number)", superentity: "P"))
    }
    XCTAssertEqual(wide.validationIssues().count, 1)
  }
}
