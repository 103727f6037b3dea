import CipherDataToolKit
import Foundation
import ObjectModel
import XCTest

/// CIPHERDATA_LOG: the log of a process's stores on standard error.
final class EnvironmentLogTests: XCTestCase {
  private func lines(_ result: ToolResult) -> [Substring] { result.error.split(separator: "\n").filter { $0.hasPrefix("CipherData ") } }

  func testStatementsAreLoggedWithTimesAndRowsButWithoutValues() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    XCTAssertEqual(try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index).status, 0)
    let question = ["fetch", "test.store", "--entity", "Package", "--where", "name == 'bash'"]
    let silent = try fixture.run(question)
    let reported = try fixture.run(question, environment: ["CIPHERDATA_LOG": "sql"])
    XCTAssertEqual(reported.output, silent.output)
    XCTAssertEqual(lines(silent), [])
    let fetches = lines(reported).filter { $0.contains("rows: SELECT") || $0.contains("row: SELECT") }
    XCTAssertFalse(fetches.isEmpty, reported.error)
    for line in lines(reported) {
      XCTAssertNotNil(try /CipherData sql \[test\.store\] [0-9]+\.[0-9]{2} ms, [0-9]+ rows?: .+/.wholeMatch(in: line), "\(line)")
      XCTAssertFalse(line.contains("bash"), "\(line)")
    }
  }

  func testMigrationPhasesAreLogged() async throws {
    let fixture = try ToolFixture()
    var entity = EntityDescription(name: "Thing")
    entity.properties = [.attribute(AttributeDescription(name: "a", type: .string, isOptional: true))]
    try await fixture.makeStore(of: ManagedObjectModel(entities: [entity]))
    entity.properties.append(.attribute(AttributeDescription(name: "b", type: .integer64, isOptional: true)))
    let model = try fixture.folder.file(
      "new.xcdatamodel", String(decoding: ManagedObjectModel(entities: [entity]).xmlData(), as: UTF8.self))
    let result = try fixture.run(
      ["migrate", "test.store", "--model", model.lastPathComponent], environment: ["CIPHERDATA_LOG": "migration,sqll"])
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertTrue(lines(result).contains { $0.hasPrefix("CipherData migration [test.store] ") }, result.error)
    XCTAssertEqual(lines(result).filter { $0.contains("“sqll” is unknown") }.count, 1, result.error)
    XCTAssertFalse(result.error.contains("CipherData sql"))
  }
}
