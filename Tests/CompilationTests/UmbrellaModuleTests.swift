import Foundation
import XCTest

/// The visibility of the two imports to the compiler: types of the engine require `import CipherDataEngine`.
final class UmbrellaModuleTests: XCTestCase {
  /// Flags that an application may set: every member must come from a module that the file imports.
  private static let flags = ["-enable-upcoming-feature", "MemberImportVisibility", "-enable-upcoming-feature", "InternalImportsByDefault"]

  func testApplicationsCannotUseRowTypes() throws {
    try Fixture("SeesNoRows").check(flags: Self.flags)
  }

  func testStoresCanUseRowsCompiledModelsAndTheStoreProtocol() throws {
    try Fixture("SeesTheEngine").check(flags: Self.flags)
  }

  func testApplicationsRegisterStoresWithoutImportingTheStoreProtocol() throws {
    try Fixture("RegistersAStore").check(flags: Self.flags)
  }

  func testGeneratedClassesNeedOnlyTheApplicationImport() throws {
    try Fixture.withLibraryClasses { library in
      let (status, diagnostics) = try Compiler().check([library], flags: ["-parse-as-library"] + Self.flags)
      XCTAssertEqual(status, 0)
      XCTAssertEqual(diagnostics, [])
    }
  }

  func testExampleStoreNeedsOnlyTheEngineImport() throws {
    let folder = Compiler.root.appendingPathComponent("Examples/Sources/JSONFileStore")
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).filter {
      $0.pathExtension == "swift"
    }
    XCTAssertFalse(files.isEmpty)
    for file in files {
      let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
      let imports = Set(
        lines.filter { $0.hasPrefix("import ") || $0.hasPrefix("public import ") }.compactMap { $0.split(separator: " ").last })
      XCTAssertTrue(imports.isSubset(of: ["CipherDataEngine", "Foundation", "Synchronization"]), "\(file.lastPathComponent): \(imports)")
    }
    let (status, diagnostics) = try Compiler().check(files, flags: ["-parse-as-library"] + Self.flags)
    XCTAssertEqual(status, 0)
    XCTAssertEqual(diagnostics, [])
  }
}
