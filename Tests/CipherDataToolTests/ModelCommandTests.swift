import Foundation
import ObjectModel
import XCTest

/// `cipherdata model diff`, `lint` and `format`.
final class ModelCommandTests: XCTestCase {
  private func write(_ model: ManagedObjectModel, _ name: String, in tool: ToolFixture) throws -> String {
    let path = tool.path(name)
    try VersionedModel(name: "M", versions: [.init(name: "M", model: model)], currentVersionName: "M").write(to: URL(filePath: path))
    return path
  }

  func testDiffReportsChangesAndWhetherTheMappingCanBeInferred() throws {
    let tool = try ToolFixture()
    let older = try write(ManagedObjectModel { Entity("A") { Attribute("x", .string) } }, "Old.xcdatamodeld", in: tool)
    let newer = try write(
      ManagedObjectModel {
        Entity("A") {
          Attribute("x", .string)
          Attribute("y", .date)
        }
      }, "New.xcdatamodeld", in: tool)
    let run = try tool.run(["model", "diff", older, newer], passphrase: nil)
    XCTAssertEqual(run.output, "A.y: added: Date, optional\nThe change can be inferred.\n")
    XCTAssertEqual(try tool.run(["model", "diff", older, older], passphrase: nil).output, "No difference.\n")
    XCTAssertEqual(try tool.run(["model", "diff", older], passphrase: nil).status, 64)
  }

  func testLintFindsLikelyErrors() throws {
    let tool = try ToolFixture()
    let path = try write(
      ManagedObjectModel {
        Entity("A") { Relationship("b", to: "A") }
        FetchTemplate("Bad", entity: "A", where: "b ==")
      }, "M.xcdatamodeld", in: tool)
    let run = try tool.run(["model", "lint", path], passphrase: nil)
    XCTAssertEqual(run.status, 65)
    XCTAssertTrue(run.output.contains(": Bad: its predicate cannot be read"), run.output)
    XCTAssertTrue(run.output.contains("warning: \(path)/M.xcdatamodel/contents:4:9: the relationship 'b' has no inverse"), run.output)
    let clean = try write(ManagedObjectModel { Entity("A") { Attribute("x", .string) } }, "Clean.xcdatamodeld", in: tool)
    XCTAssertEqual(try tool.run(["model", "lint", "--strict", clean], passphrase: nil).output, "No issues found.\n")
  }

  func testUnusableWordsAreWarningsAndErrorsInStrictMode() throws {
    let tool = try ToolFixture()
    let path = tool.path("Odd.xcdatamodel")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(
      """
      <model>
      <entity name="A" codeGenerationType="none">
      <attribute name="x" attributeType="Integer 32" defaultValueString="NO"/>
      <relationship name="many" toMany="YES" destinationEntity="A"/>
      <fetchIndex name="i"><fetchIndexElement property="many" type="Binary"/></fetchIndex>
      <fetchIndex name="p" partialIndexPredicate="y == 1"><fetchIndexElement property="x" type="Binary"/></fetchIndex>
      </entity>
      </model>
      """.utf8
    ).write(to: URL(filePath: path + "/contents"))
    let warnings = [
      "cipherdata: warning: \(path)/contents:3:1: in attribute 'x', 'defaultValueString' is not a value of the type 'Integer 32'; 0 is used",
      "cipherdata: warning: \(path)/contents:5:1: A.i: the index's property 'many' is a to-many relationship; only attributes and to-one "
        + "relationships have a column; the index is left out",
      "cipherdata: warning: \(path)/contents:6:1: A.p: the index's predicate cannot be read:",
    ]
    for (number, arguments) in [
      ["create", tool.path("new.store"), "--model", path], ["model", "show", path], ["generate", path, "--output", tool.path("classes")],
    ].enumerated() {
      let run = try tool.run(arguments, passphrase: number == 0 ? "passphrase" : nil)
      XCTAssertEqual(run.status, 0, "\(arguments): \(run.error)")
      for warning in warnings { XCTAssertTrue(run.error.contains(warning), "\(arguments): \(run.error)") }
      guard arguments[1] != "show" else { continue }
      let strict = try tool.run(arguments + ["--strict"], passphrase: nil)
      XCTAssertEqual(strict.status, 65, "\(arguments)")
      XCTAssertTrue(strict.error.contains("--strict rejects the model, which has 4 warnings: "), strict.error)
      // An error uses nothing instead.
      for words in ["is used", "is left out"] { XCTAssertFalse(strict.error.contains(words), strict.error) }
    }
    let lint = try tool.run(["model", "lint", path], passphrase: nil)
    XCTAssertEqual(lint.status, 0)
    for warning in warnings { XCTAssertTrue(lint.output.contains(String(warning.dropFirst("cipherdata: ".count))), lint.output) }
    XCTAssertEqual(try tool.run(["model", "format", path], passphrase: nil).status, 0)
    XCTAssertTrue(try String(contentsOfFile: path + "/contents", encoding: .utf8).contains("defaultValueString=\"NO\""))
  }

  func testStrictModeRejectsUnknownWordsInEachCommand() throws {
    let tool = try ToolFixture()
    let path = tool.path("Odd.xcdatamodel")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(#"<model><entity name="A"><attribute name="x" optionl="YES" attributeType="String"/></entity></model>"#.utf8)
      .write(to: URL(filePath: path + "/contents"))
    for arguments in [
      ["create", tool.path("new.store"), "--model", path], ["generate", path, "--output", tool.path("classes")], ["model", "lint", path],
    ] {
      let run = try tool.run(arguments + ["--strict"], passphrase: nil)
      XCTAssertEqual(run.status, 65, "\(arguments)")
      XCTAssertTrue((run.output + run.error).contains("'optionl'"), "\(arguments): \(run.error)")
    }
    XCTAssertFalse(FileManager.default.fileExists(atPath: tool.path("new.store")))
    let warning = "warning: \(path)/contents:1:25: the attribute 'x' has 'optionl', which is not a known name; did you mean 'optional'?"
    for arguments in [
      ["create", tool.path("new.store"), "--model", path], ["generate", path, "--output", tool.path("classes")], ["model", "show", path],
      ["model", "diagram", path], ["migrate", tool.path("new.store"), "--model", path, "--dry-run"],
    ] {
      let needsPassphrase = ["create", "migrate"].contains(arguments[0])
      let run = try tool.run(arguments, passphrase: needsPassphrase ? "passphrase" : nil)
      XCTAssertEqual(run.status, 0, run.error)
      XCTAssertTrue(run.error.contains(warning), "\(arguments): \(run.error)")
    }
  }

  /// Contents of models of which strict reading refuses the last line, and what it says.
  private static let refused: [(lines: String, says: String)] = [
    ("<entity name=\"A\" isAbstrakt=\"YES\"/>", "'isAbstrakt'"), ("<entity name=\"A\"/>\n<entitee/>", "'entitee'"),
    (
      "<entity name=\"A\">\n<attribute name=\"x\" attributeType=\"Integer 16\" defaultValueString=\"NO\"/></entity>", "'defaultValueString'"
    ),
    ("<entity name=\"A\">\n<attribute name=\"x\" attributeType=\"String\" maxValueString=\"-1\"/></entity>", "length is negative"),
    ("<entity name=\"A\">\n<relationship name=\"r\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"A\"/></entity>", "no inverse"),
    (
      "<entity name=\"A\">\n<relationship name=\"r\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"A\" inverseName=\"gone\"/></entity>",
      "the inverse 'gone' is not a relationship"
    ),
    ("<entity name=\"A\">\n<fetchIndex name=\"i\"><fetchIndexElement property=\"gone\"/></fetchIndex></entity>", "'gone' is not one"),
    ("<entity name=\"A\"/>\n<configuration name=\"C\"><memberEntity name=\"Gone\"/></configuration>", "'Gone' is not in the model"),
  ]

  func testStrictMeansTheSameInEachCommandAndInTheLibrary() async throws {
    let tool = try ToolFixture()
    let path = tool.path("M.xcdatamodel")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try await tool.makeStore(of: ManagedObjectModel { Entity("A") })
    _ = try tool.folder.file("Old.sqlite", "")
    let commands = [
      ["create", tool.path("new.store"), "--model", path], ["generate", path, "--output", tool.path("classes")],
      ["migrate", tool.store, "--model", path], ["migrate", tool.store, "--model", path, "--dry-run"],
      ["import", tool.path("new.store"), "--from-core-data", tool.path("Old.sqlite"), "--model", path], ["model", "lint", path],
    ]
    for (lines, says) in Self.refused {
      try Data("<model>\n\(lines)\n</model>".utf8).write(to: URL(filePath: path + "/contents"))
      let position = "\(path)/contents:\(lines.contains("\n") ? 3 : 2):1: "
      for command in commands {
        let run = try tool.run(command + ["--strict"], passphrase: command[0] == "migrate" ? "passphrase" : nil)
        XCTAssertEqual(run.status, 65, "\(command) \(lines): \(run.error)")
        let text = run.output + run.error
        XCTAssertTrue(text.contains(position) && text.contains(says), "\(command) \(lines): \(text)")
        for words in ["is used", "is left out", "has no inverse;"] { XCTAssertFalse(text.contains(words), "\(command) \(lines): \(text)") }
      }
      XCTAssertThrowsError(try ManagedObjectModel(contentsOf: URL(filePath: path), strict: true), lines) {
        XCTAssertTrue("\($0)".hasPrefix(position) && "\($0)".contains(says), "\($0)")
        XCTAssertFalse("\($0)".contains("is used") || "\($0)".contains("is left out"), "\($0)")
      }
      XCTAssertFalse(FileManager.default.fileExists(atPath: tool.path("new.store")))
      // Without it each is a warning.
      let lint = try tool.run(["model", "lint", path], passphrase: nil)
      XCTAssertEqual(lint.status, 0, lint.output)
      XCTAssertTrue(lint.output.contains("warning: \(position)"), lint.output)
    }
  }

  func testAdviceOfLintIsNotRejectedByStrict() async throws {
    let tool = try ToolFixture()
    let path = try write(
      ManagedObjectModel {
        Entity("A") { Attribute("made", .date).initially(Date(timeIntervalSinceReferenceDate: 0)) }
      }, "M.xcdatamodeld", in: tool)
    let lint = try tool.run(["model", "lint", "--strict", path], passphrase: nil)
    XCTAssertEqual(lint.status, 0, lint.error)
    XCTAssertTrue(lint.output.contains("note: \(path)/M.xcdatamodel/contents:4:9: A.made: the default value is a fixed date"), lint.output)
    let create = try tool.run(["create", tool.path("new.store"), "--model", path, "--strict"])
    XCTAssertEqual(create.status, 0, create.error)
    XCTAssertEqual(create.error, "")
    XCTAssertNoThrow(try ManagedObjectModel(contentsOf: URL(filePath: path), strict: true))
    XCTAssertNoThrow(try VersionedModel(contentsOf: URL(filePath: path), strict: true))
  }

  func testAMistypedRenamingIdentifierIsAWarningOfDiffAndMigrate() async throws {
    let tool = try ToolFixture()
    func model(_ name: String, from identifier: String?) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("Note") { if let identifier { Attribute(name, .string).renamed(from: identifier) } else { Attribute(name, .string) } }
      }
    }
    let older = model("title", from: nil)
    try await tool.makeStore(of: older)
    let oldPath = try write(older, "Old.xcdatamodeld", in: tool)
    let alone = try write(model("heading", from: "titel"), "New.xcdatamodeld", in: tool)
    let both = tool.path("Both.xcdatamodeld")
    try VersionedModel(
      name: "Both", versions: [.init(name: "Both", model: older), .init(name: "Both 2", model: model("heading", from: "titel"))],
      currentVersionName: "Both 2"
    ).write(to: URL(filePath: both))
    let says = ": Note.heading: the renaming identifier 'titel' does not match any property of another version; did you mean 'title'?"
    for (arguments, path) in [
      (["model", "diff", oldPath, alone], "\(alone)/M.xcdatamodel"),
      (["model", "diff", both, "--from", "Both"], "\(both)/Both 2.xcdatamodel"),
      (["migrate", tool.store, "--model", alone, "--dry-run"], "\(alone)/M.xcdatamodel"),
      (["migrate", tool.store, "--model", both, "--dry-run"], "\(both)/Both 2.xcdatamodel"),
      (["migrate", tool.store, "--model", both, "--version", "Both 2", "--dry-run"], "\(both)/Both 2.xcdatamodel"),
      (["create", tool.path("new.store"), "--model", both], "\(both)/Both 2.xcdatamodel"),
    ] {
      let needsPassphrase = arguments[0] != "model"
      let run = try tool.run(arguments, passphrase: needsPassphrase ? "passphrase" : nil)
      XCTAssertEqual(run.status, 0, run.error)
      XCTAssertEqual(run.error.components(separatedBy: says).count, 2, "\(arguments): \(run.error)")
      XCTAssertTrue(run.error.contains("warning: \(path)/contents:4:9\(says)"), "\(arguments): \(run.error)")
      guard arguments[0] == "migrate" else { continue }
      let strict = try tool.run(arguments + ["--strict"])
      XCTAssertEqual(strict.status, 65, strict.error)
      XCTAssertTrue(strict.error.contains(says), strict.error)
    }
    XCTAssertThrowsError(try ManagedObjectModel(contentsOf: URL(filePath: both), strict: true))
    XCTAssertThrowsError(try VersionedModel(contentsOf: URL(filePath: both), strict: true))
    // A correct one is not reported.
    let right = try write(model("heading", from: "title"), "Right.xcdatamodeld", in: tool)
    let run = try tool.run(["migrate", tool.store, "--model", right])
    XCTAssertEqual([run.status, Int32(run.error.count)], [0, 0], run.error)
  }

  func testAModelThatIsNotThereIsReportedAsSuch() throws {
    let tool = try ToolFixture()
    _ = try tool.folder.file("File.xcdatamodeld", "")
    try FileManager.default.createDirectory(atPath: tool.path("Empty.xcdatamodeld"), withIntermediateDirectories: false)
    for (name, status, says) in [
      ("Gone.xcdatamodeld", 66, "there is no such model; check the path"),
      ("Gone.xcdatamodel", 66, "there is no such model; check the path"),
      ("nowhere/Gone.xcdatamodeld", 66, "there is no such model; check the path"),
      ("contents", 66, "there is no such file; check the path"),
      ("File.xcdatamodeld", 66, "the bundle is not a folder"), ("File.xcdatamodeld/x.xcdatamodeld", 66, "there is no such model"),
      ("Empty.xcdatamodeld", 65, "the bundle has no .xcdatamodel in it"),
    ] as [(String, Int32, String)] {
      let path = tool.path(name)
      for arguments in [
        ["create", tool.path("new.store"), "--model", path], ["model", "lint", path], ["model", "show", path],
        ["model", "diff", path, path],
        ["generate", path, "--output", tool.path("classes")], ["model", "add-version", path],
      ] where !(arguments[1] == "add-version" && !name.hasSuffix("d")) {
        let run = try tool.run(arguments, passphrase: nil)
        XCTAssertEqual(run.status, status, "\(arguments): \(run.error)")
        XCTAssertTrue(run.error.contains("\(path): \(says)"), "\(arguments): \(run.error)")
      }
    }
  }

  func testLintCountsErrorsAndWarnings() throws {
    let tool = try ToolFixture()
    let warned = try write(ManagedObjectModel { Entity("A") { Relationship("b", to: "A") } }, "W.xcdatamodeld", in: tool)
    XCTAssertEqual(try tool.run(["model", "lint", warned], passphrase: nil).status, 0)
    let strict = try tool.run(["model", "lint", "--strict", warned], passphrase: nil)
    XCTAssertEqual(strict.status, 65)
    XCTAssertTrue(strict.error.contains("The model has 1 warning."), strict.error)
    let wrong = try write(
      ManagedObjectModel {
        Entity("A") { Relationship("b", to: "A") }
        FetchTemplate("Bad", entity: "A", where: "b ==")
      }, "E.xcdatamodeld", in: tool)
    let both = try tool.run(["model", "lint", wrong], passphrase: nil)
    XCTAssertTrue(both.error.contains("The model has 1 error and 1 warning."), both.error)
  }

  /// Model lines with one mistake each, and the position that the message starts with.
  private static let mistakes: [(line: String, position: String, says: String)] = [
    ("<entity/>", "2:1", "name"), ("<entity name=\"A\"/><entity name=\"A\"/>", "2:1", "two entities"),
    ("<entity name=\"A\" parentEntity=\"Gone\"/>", "2:1", "superentity"),
    ("<entity name=\"A\" parentEntity=\"A\"/>", "2:1", "inherits from itself"),
    (
      "<entity name=\"A\"><attribute name=\"x\" attributeType=\"String\"/> <attribute name=\"x\" attributeType=\"Date\"/></entity>", "2:18",
      "two properties"
    ),
    ("<entity name=\"A\"><attribute name=\"x\" attributeType=\"Colour\"/></entity>", "2:18", "attributeType"),
    ("<entity name=\"A\"> <attribute name=\"x\"/></entity>", "2:19", "no type"),
    (
      "<entity name=\"A\"><attribute name=\"x\" attributeType=\"String\" derived=\"YES\" derivationExpression=\"what()\"/></entity>",
      "2:18", "derivation expression"
    ),
    ("<entity name=\"A\"><attribute name=\"x\" attributeType=\"Composite\" composite=\"Gone\"/></entity>", "2:18", "composite"),
    ("<entity name=\"A\">\n  <relationship name=\"r\" destinationEntity=\"Gone\"/></entity>", "3:3", "destination"),
    ("<entity name=\"A\"><relationship name=\"r\" destinationEntity=\"A\" deletionRule=\"Forget\"/></entity>", "2:18", "deletionRule"),
    (
      "<entity name=\"A\"><attribute name=\"x\" attributeType=\"Date\"/><fetchIndex name=\"i\"><fetchIndexElement property=\"x\" type=\"FullText\"/></fetchIndex></entity>",
      "2:60", "full-text"
    ),
    (
      "<entity name=\"A\"><uniquenessConstraints><uniquenessConstraint><constraint value=\"x\"/></uniquenessConstraint></uniquenessConstraints></entity>",
      "2:1", "uniqueness"
    ),
    ("<composite name=\"C\"><attribute name=\"c\" attributeType=\"Composite\" composite=\"C\"/></composite>", "2:1", "composite"),
    ("<configuration name=\"C\"/> <configuration name=\"C\"/>", "2:1", "two configurations"),
    ("<entity name=\"A\"/><fetchRequest name=\"T\" entity=\"A\"/><fetchRequest name=\"T\" entity=\"A\"/>", "2:19", "two fetch request"),
    ("<entity name=\"A\"/><fetchRequest name=\"T\" entity=\"A\" fetchLimit=\"-1\"/>", "2:19", "negative"),
    ("<nothing>", "3", "well-formed"),
  ]

  func testModelFileErrorsHavePositions() throws {
    let tool = try ToolFixture()
    let path = tool.path("Wrong.xcdatamodel")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for (line, position, says) in Self.mistakes {
      try Data("<model>\n\(line)\n</model>".utf8).write(to: URL(filePath: path + "/contents"))
      let create = try tool.run(["create", tool.path("new.store"), "--model", path], passphrase: "passphrase")
      XCTAssertEqual(create.status, 65, "\(line): \(create.error)")
      XCTAssertFalse(FileManager.default.fileExists(atPath: tool.path("new.store")))
      let generate = try tool.run(["generate", path, "--output", tool.path("classes")], passphrase: nil)
      XCTAssertEqual(generate.status, 65, "\(line): \(generate.error)")
      let lint = try tool.run(["model", "lint", path], passphrase: nil)
      XCTAssertEqual(lint.status, 65, line)
      for text in [create.error, generate.error, lint.output + lint.error] {
        XCTAssertTrue(text.contains("\(path)/contents:\(position)") && text.contains(says), "\(line): \(text)")
      }
    }
    // Names that only the generator rejects.
    for name in ["Foundation", "default", "CipherData"] {
      let xml = "<model>\n  <entity name=\"A\" representedClassName=\"\(name)\" codeGenerationType=\"class\"/>\n</model>"
      try Data(xml.utf8).write(to: URL(filePath: path + "/contents"))
      let run = try tool.run(["generate", path, "--output", tool.path("classes")], passphrase: nil)
      XCTAssertEqual(run.status, 65)
      XCTAssertTrue(run.error.contains("\(path)/contents:2:3: A: '\(name)'") && run.error.contains("representedClassName"), run.error)
    }
  }

  func testModelsWithTooManyColumnsAreRejectedBeforeAnythingIsWritten() throws {
    let tool = try ToolFixture()
    func write(_ name: String, _ count: Int) throws -> String {
      let path = tool.path(name)
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      // Each entity is below the limit, but they share a table.
      let entities = (0..<3).map { entity in
        "<entity name=\"E\(entity)\"\(entity > 0 ? " parentEntity=\"E0\"" : "")>"
          + (0..<count).map { "<attribute name=\"a\(entity)x\($0)\" optional=\"YES\" attributeType=\"String\"/>" }.joined() + "</entity>"
      }
      try Data("<model>\n\(entities.joined(separator: "\n"))\n</model>".utf8).write(to: URL(filePath: path + "/contents"))
      return path
    }
    let (wide, narrow) = (try write("Wide.xcdatamodel", 900), try write("Narrow.xcdatamodel", 2))
    let create = try tool.run(["create", tool.path("wide.store"), "--model", wide], passphrase: "passphrase")
    XCTAssertEqual(create.status, 64, create.error)
    XCTAssertTrue(create.error.contains("columns"), create.error)
    XCTAssertFalse(FileManager.default.fileExists(atPath: tool.path("wide.store")))
    XCTAssertFalse(FileManager.default.fileExists(atPath: tool.path("wide.store.keys")))
    let lint = try tool.run(["model", "lint", wide], passphrase: nil)
    XCTAssertTrue(lint.output.contains("warning: \(wide)/contents:2:1: E0: ") && lint.output.contains("columns"), lint.output)
    XCTAssertEqual(try tool.run(["create", tool.path("a.store"), "--model", narrow], passphrase: "passphrase").status, 0)
    let before = try Data(contentsOf: URL(filePath: tool.path("a.store")))
    for arguments in [["--dry-run"], []] {
      let migrate = try tool.run(["migrate", tool.path("a.store"), "--model", wide] + arguments, passphrase: "passphrase")
      XCTAssertTrue([64, 65].contains(migrate.status), "\(migrate.status): \(migrate.error)\(migrate.output)")
      XCTAssertTrue((migrate.error + migrate.output).contains("columns"), migrate.error)
    }
    XCTAssertEqual(try Data(contentsOf: URL(filePath: tool.path("a.store"))), before)
  }

  func testLintAndDiffIncludeFiltersOfDerivedAttributes() throws {
    let tool = try ToolFixture()
    func model(_ filter: String, expression: String = "messages.@count") -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("Thread") {
          Attribute("unread", .integer64).derived(expression, where: filter)
          Relationship("messages", toMany: "Message", inverse: "thread")
        }
        Entity("Message") {
          Attribute("isRead", .boolean).required().initially(false)
          Relationship("thread", to: "Thread", inverse: "messages")
        }
      }
    }
    let good = try write(model("isRead == NO"), "Good.xcdatamodeld", in: tool)
    XCTAssertEqual(try tool.run(["model", "lint", good], passphrase: nil).output, "No issues found.\n")
    for (number, (filter, reason)) in [
      ("isread == NO", "Did you mean isRead?"), ("isRead ==", "cannot be used"), ("thread.unread > 1", "The path thread.unread"),
    ].enumerated() {
      let run = try tool.run(["model", "lint", write(model(filter), "Bad\(number).xcdatamodeld", in: tool)], passphrase: nil)
      XCTAssertEqual(run.status, 65)
      XCTAssertTrue(run.output.contains("/contents:4:9: Thread.unread: the derivation filter '\(filter)' cannot be used: "), run.output)
      XCTAssertTrue(run.output.contains(reason), run.output)
    }
    let other = try write(model("isRead == YES"), "Other.xcdatamodeld", in: tool)
    XCTAssertEqual(
      try tool.run(["model", "diff", good, other], passphrase: nil).output,
      "Thread.unread: filter of the derivation changed: the values are recomputed\nStores of the older version are compatible with the newer one.\n"
    )
    XCTAssertTrue(
      try tool.run(["model", "show", good], passphrase: nil).output.contains("derived from messages.@count where isRead == NO"))
    XCTAssertEqual(try tool.run(["model", "format", "--check", good], passphrase: nil).status, 0)
  }

  func testAddVersionCopiesTheCurrentVersionAndMakesTheCopyCurrent() throws {
    let tool = try ToolFixture()
    let path = try write(ManagedObjectModel { Entity("A") { Attribute("x", .string) } }, "M.xcdatamodeld", in: tool)
    XCTAssertEqual(try tool.run(["model", "add-version", path], passphrase: nil).output, "The current version is “M 2”.\n")
    XCTAssertEqual(
      try tool.run(["model", "add-version", path, "--name", "Third"], passphrase: nil).output, "The current version is “Third”.\n")
    XCTAssertEqual(try tool.run(["model", "add-version", path, "--name", "third"], passphrase: nil).status, 73)
    let bundle = try VersionedModel(contentsOf: URL(filePath: path))
    XCTAssertEqual(bundle.versions.map(\.name), ["M", "M 2", "Third"])
    XCTAssertEqual(bundle.currentVersionName, "Third")
    XCTAssertEqual(try tool.run(["model", "diff", path, "--from", "M"], passphrase: nil).output, "No difference.\n")
    let run = try tool.run(["model", "lint", path], passphrase: nil)
    XCTAssertTrue(run.output.contains("contents:2:1: stores cannot distinguish the version 'M 2' from 'M'"), run.output)
  }

  func testFormatSortsOnRequest() throws {
    let tool = try ToolFixture()
    let model = ManagedObjectModel {
      Entity("B")
      Entity("A") {
        Relationship("a", to: "B")
        Attribute("y", .string)
        Attribute("x", .string)
      }
    }
    let path = try write(model, "M.xcdatamodeld", in: tool)
    XCTAssertEqual(try tool.run(["model", "format", "--check", path], passphrase: nil).status, 0)
    XCTAssertEqual(try tool.run(["model", "format", "--check", "--sort", path], passphrase: nil).status, 1)
    XCTAssertEqual(try tool.run(["model", "format", "--sort", path], passphrase: nil).status, 0)
    let sorted = try ManagedObjectModel(contentsOf: URL(filePath: path))
    XCTAssertEqual(sorted.entities.map(\.name), ["A", "B"])
    XCTAssertEqual(sorted.entities[0].properties.map(\.name), ["x", "y", "a"])
    XCTAssertEqual(sorted.versionHashesByEntityName, model.versionHashesByEntityName)
  }

  func testFormatWritesTheCanonicalForm() throws {
    let tool = try ToolFixture()
    let path = try write(ManagedObjectModel { Entity("A") { Attribute("x", .string) } }, "M.xcdatamodeld", in: tool)
    XCTAssertEqual(try tool.run(["model", "format", "--check", path], passphrase: nil).status, 0)
    let file = URL(filePath: path).appendingPathComponent("M.xcdatamodel/contents")
    let canonical = try String(contentsOf: file, encoding: .utf8)
    try canonical.replacing("    <", with: "\t<").write(to: file, atomically: true, encoding: .utf8)
    XCTAssertEqual(try tool.run(["model", "format", "--check", path], passphrase: nil).status, 1)
    XCTAssertEqual(try tool.run(["model", "format", path], passphrase: nil).status, 0)
    XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), canonical)
  }
}
