// ModelFileTests: model files read and written again.
import Foundation
import XCTest

@testable import ObjectModel

final class ModelFileTests: XCTestCase {
  func testTheSchemasOfTheRepositoryAreReadAndWrittenAgainByteForByte() throws {
    for name in ["DebianArchive", "Messenger", "PhotoLibrary"] {
      let url = Fixtures.schema(name)
      let model = try ManagedObjectModel(contentsOf: url)
      let data = try Data(contentsOf: url.appendingPathComponent("\(name).xcdatamodel/contents"))
      XCTAssertEqual(String(decoding: try model.xmlData(), as: UTF8.self), String(decoding: data, as: UTF8.self), name)
      XCTAssertNoThrow(try CompiledModel(model))
    }
  }
}

/// Where the files of the tests are.
enum Fixtures {
  static func schema(_ name: String) -> URL {
    root.appendingPathComponent("Schemas/\(name).xcdatamodeld")
  }
  static let root: URL = {
    // The tests' own folder is looked for upwards: the package may be checked out anywhere.
    let file = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
    return file.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  }()
}
