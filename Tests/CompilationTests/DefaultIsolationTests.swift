#if compiler(>=6.2)
  import Foundation
  import ModelCodeGeneration
  import ObjectModel
  import XCTest

  /// A target with generated classes and an application compile with any default isolation and language mode.
  final class DefaultIsolationTests: XCTestCase {
    /// New applications default to the main actor.
    private static let isolations = ["nonisolated", "MainActor"]
    private static let modes = [["-swift-version", "6"], ["-swift-version", "5"]]
    /// The strictest Swift 5 mode. `#Predicate` requires the second feature.
    private static let strict = [
      "-swift-version", "5", "-strict-concurrency=complete", "-enable-upcoming-feature", "InferSendableFromCaptures",
    ]

    private static let model = ManagedObjectModel(version: "city-1") {
      Entity("Person", class: ".Person") {
        Attribute("name", .string).required().userInfo("swiftValidation", "YES")
        Attribute("born", .integer32).required().initially(0)
        Relationship("books", toMany: "Book", inverse: "author")
      }
      .codeGeneration(.category)
      Entity("Book") {
        Attribute("title", .string).required().userInfo("swiftValidation", "YES")
        Attribute("progress", .integer16).required().initially(0).userInfo("swiftType", "Progress").userInfo("swiftUnknownCase", "unread")
        Attribute("cover", .transformable).userInfo("swiftType", "Cover")
        Attribute("scan", .binary).externalStorage()
        Attribute("place", composite: "Place")
        Relationship("author", to: "Person", inverse: "books")
        Relationship("shelf", to: "Shelf", inverse: "books")
        FetchedProperty("editions", entity: "Book", where: "title == $FETCH_SOURCE.title")
      }
      .codeGeneration(.classDefinition)
      Entity("Shelf", abstract: true) {
        Attribute("label", .string).required()
        Relationship("books", toMany: "Book", inverse: "shelf").ordered()
      }
      .codeGeneration(.classDefinition)
      Entity("Library", class: ".Library", parent: "Shelf")
      Composite("Place") {
        Attribute("room", .string).required()
        Attribute("row", .integer64).required()
      }
    }

    private func withSources(_ body: (_ folder: URL, _ generated: URL) throws -> Void) throws {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("isolation-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let generated = folder.appendingPathComponent("City+ManagedObjects.swift")
      try ModelCodeGenerator(model: Self.model, name: "City", options: CodeGenerationOptions(access: .open)).source()
        .write(to: generated, atomically: true, encoding: .utf8)
      try body(folder, generated)
    }

    private func assertCompiles(_ files: [URL], _ flags: [String], line: UInt = #line) throws {
      let (status, diagnostics) = try Compiler().check(files, flags: ["-parse-as-library"] + flags)
      XCTAssertTrue(status == 0 && diagnostics.isEmpty, "\(flags.prefix(5)):\n" + diagnostics.joined(separator: "\n"), line: line)
    }

    private let own = Fixture.folder.appendingPathComponent("ModelOfAnyDefault.swift")
    private let application = Fixture.folder.appendingPathComponent("ApplicationOfAnyDefault.swift")

    func testModelTargetAndApplicationCompileUnderEachDefaultIsolation() throws {
      try withSources { folder, generated in
        for mode in Self.modes {
          for modelDefault in Self.isolations {
            try assertCompiles(
              [generated, own],
              mode + [
                "-default-isolation", modelDefault, "-module-name", "Model", "-emit-module-path",
                folder.appendingPathComponent("Model.swiftmodule").path,
              ])
            for applicationDefault in Self.isolations {
              try assertCompiles(
                [application], mode + ["-default-isolation", applicationDefault, "-D", "APART", "-I", folder.path])
            }
          }
        }
      }
    }

    func testCombinedTargetCompilesUnderEachDefaultIsolation() throws {
      try withSources { _, generated in
        for mode in Self.modes + [Self.strict] {
          for isolation in Self.isolations {
            try assertCompiles([generated, own, application], mode + ["-default-isolation", isolation])
          }
        }
      }
    }

    func testClassesCompileWithoutWarningsUnderStrictSwift5Checks() throws {
      try withSources { _, generated in
        for isolation in Self.isolations {
          try assertCompiles(
            [generated, own], ["-swift-version", "5", "-strict-concurrency=complete", "-default-isolation", isolation])
        }
      }
    }
  }
#endif
