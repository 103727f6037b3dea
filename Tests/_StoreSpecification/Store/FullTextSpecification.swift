import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Texts are searched by their words, with the same results with a full-text index, without one, and in memory.
public final class FullTextSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testWordsPrefixesAndPhrasesAreFound", { $0.testWordsPrefixesAndPhrasesAreFound }),
        ("testSeveralAttributesAreSearchedTogether", { $0.testSeveralAttributesAreSearchedTogether }),
        ("testNilTextsAreNotFound", { $0.testNilTextsAreNotFound }),
        ("testUpdatedTextsAreFound", { $0.testUpdatedTextsAreFound }),
        ("testTextsWrittenByBatchRequestsAreFound", { $0.testTextsWrittenByBatchRequestsAreFound }),
        ("testSubentitiesHaveTheirOwnIndexes", { $0.testSubentitiesHaveTheirOwnIndexes }),
        ("testKeyPathsCanBeSearched", { $0.testKeyPathsCanBeSearched }),
        ("testResultsAreOrderedByRelevance", { $0.testResultsAreOrderedByRelevance }),
        ("testUnsavedChangesAreSearchedToo", { $0.testUnsavedChangesAreSearchedToo }),
        ("testRandomQueriesReturnTheExpectedResults", { $0.testRandomQueriesReturnTheExpectedResults }),
        ("testArbitraryUserInputNeverFails", { $0.testArbitraryUserInputNeverFails }),
        ("testInvalidSearchesThrow", { $0.testInvalidSearchesThrow }),
        ("testFailedSaveLeavesTheFullTextIndexUnchanged", { $0.testFailedSaveLeavesTheFullTextIndexUnchanged }),
      ] as [(String, (FullTextSpecification) -> () throws -> Void)])
  }

  /// Documents and letters, which are documents, with chapters and an author; with or without full-text indexes.
  private func makeModel(indexed: Bool = true) throws -> CompiledModel {
    var document = SpecificationModels.entity(
      "Document",
      [
        SpecificationModels.text("title"), SpecificationModels.text("body"), SpecificationModels.text("plain"),
        SpecificationModels.integer("number"), SpecificationModels.toOne("author", "Author", "documents"),
        SpecificationModels.toMany("chapters", "Chapter", "document", ordered: true),
        SpecificationModels.toMany("tags", "Tag", "documents"),
      ], unique: [["number"]])
    var letter = SpecificationModels.entity("Letter", [SpecificationModels.text("recipient")], parent: "Document")
    let postcard = SpecificationModels.entity("Postcard", [SpecificationModels.text("motif")], parent: "Letter")
    var author = SpecificationModels.entity(
      "Author",
      [SpecificationModels.text("name"), SpecificationModels.text("bio"), SpecificationModels.toMany("documents", "Document", "author")])
    var chapter = SpecificationModels.entity(
      "Chapter", [SpecificationModels.text("text"), SpecificationModels.toOne("document", "Document", "chapters")])
    let tag = SpecificationModels.entity(
      "Tag", [SpecificationModels.text("name"), SpecificationModels.toMany("documents", "Document", "tags")])
    if indexed {
      document.indexes = [FetchIndexDescription(name: "byWords", elements: [.fullText("title"), .fullText("body")])]
      letter.indexes = [FetchIndexDescription(name: "byRecipient", elements: [.fullText("recipient"), .fullText("title")])]
      author.indexes = [FetchIndexDescription(name: "byBio", elements: [.fullText("bio")])]
      chapter.indexes = [FetchIndexDescription(name: "byText", elements: [.fullText("text")])]
    }
    return try SpecificationModels.compiled([document, letter, postcard, author, chapter, tag])
  }

  private func numbers(_ format: String, _ open: OpenStore) throws -> [Int64] { try numbers(format, "Document", open) }

  private func numbers(_ format: String, _ entity: String, _ open: OpenStore) throws -> [Int64] {
    var fetch = FetchSpecification(entityName: entity, predicate: try FetchPredicate(format: format))
    fetch.sortDescriptors = [FetchSortDescriptor("number")]
    return try numbers(fetch, open)
  }

  private func numbers(_ fetch: FetchSpecification, _ open: OpenStore) throws -> [Int64] {
    try open.values("number", fetch).map { if case .int(let number) = $0 { number } else { -1 } }
  }

  private let texts = [
    "The quick brown fox jumps over the lazy dog", "Quick BROWNIES with chocolate", "A brown dog, lazy and quick-witted", "Über die Straße",
    "ueber die STRASSE", "東京タワーの写真", "京都", "don't panic", "🚀 launch", "",
  ]

  private func fill(_ open: OpenStore) throws {
    try open.save { save in
      for (number, text) in texts.enumerated() {
        try save.insert("Document", ["number": .int(Int64(number)), "body": .text(text), "plain": .text(text)])
      }
      try save.insert("Document", ["number": .int(100)])
    }
  }

  func testWordsPrefixesAndPhrasesAreFound() throws {
    let expected: [(String, [Int64])] = [
      ("quick", [0, 1, 2]), ("quick brown", [0, 2]), ("brown*", [0, 1, 2]), ("\"quick brown\"", [0]), ("\"lazy dog\"", [0]),
      ("\"dog lazy\"", [2]), ("quick -dog", [1]), ("NOT quick", [3, 4, 5, 6, 7, 8, 9]), ("chocolate OR über", [1, 3]), ("strasse", [3, 4]),
      ("uber OR ueber", [3, 4]), ("京", [5, 6]), ("東京", [5]), ("タワ*", [5]), ("don't", [7]), ("don", [7]), ("🚀", [8]),
      ("(fox OR launch) -dog", [8]),
      ("\"quick bro*\"", [0, 1]), ("brow", []), ("", Array(0...9)), ("\"the quick\" lazy", [0]), ("dog -(fox OR witted)", []),
    ]
    for isIndexed in [true, false] {
      let open = try makeStore(makeModel(indexed: isIndexed))
      try fill(open)
      for (query, found) in expected {
        for key in ["body", "plain"] {
          var fetch = FetchSpecification(entityName: "Document", predicate: .compare(key, .search, query))
          fetch.sortDescriptors = [FetchSortDescriptor("number")]
          XCTAssertEqual(try numbers(fetch, open), found, "\(key) \(query), indexed \(isIndexed)")
          XCTAssertEqual(try open.count(fetch), found.count)
          fetch.predicate = .not(.compare(key, .search, query))
          let others = (Array(0...9) + [100]).filter { !found.contains($0) }
          XCTAssertEqual(try numbers(fetch, open), others, "NOT \(key) \(query), indexed \(isIndexed)")
        }
      }
      XCTAssertEqual(try numbers("body SEARCH \"quick\" AND number > 0", open), [1, 2])
      XCTAssertEqual(try numbers("body search[cd] \"quick\" OR number == 8", open), [0, 1, 2, 8])
    }
  }

  func testSeveralAttributesAreSearchedTogether() throws {
    for isIndexed in [true, false] {
      let open = try makeStore(makeModel(indexed: isIndexed))
      try open.save { save in
        try save.insert("Document", ["number": .int(1), "title": .text("Text adventures"), "body": .text("An old game")])
        try save.insert("Document", ["number": .int(2), "title": .text("Old text"), "body": .text("No adventures")])
        try save.insert("Document", ["number": .int(3), "title": .text("adventures"), "plain": .text("old")])
        try save.insert("Document", ["number": .int(4), "body": .text("old adventures")])
      }
      XCTAssertEqual(try numbers("{title, body} SEARCH 'old adventures'", open), [1, 2, 4])
      XCTAssertEqual(try numbers("{title, body} SEARCH '\"old adventures\"'", open), [4])
      XCTAssertEqual(try numbers("{title, body, plain} SEARCH 'old adventures'", open), [1, 2, 3, 4])
      XCTAssertEqual(try numbers("{title, body} SEARCH 'adventures -old'", open), [3])
      XCTAssertEqual(try numbers("{title, body} SEARCH 'game OR no'", open), [1, 2])
      XCTAssertEqual(try numbers("{body, plain} SEARCH '-adventures'", open), [1, 3])
      XCTAssertEqual(try numbers("NOT {title, body} SEARCH 'old'", open), [3])
      XCTAssertEqual(try numbers("title SEARCH 'old' OR body SEARCH 'old'", open), [1, 2, 4])
      guard isIndexed else { continue }
      XCTAssertEqual(try numbers("SELF SEARCH 'old adventures'", open), [1, 2, 4])
      XCTAssertEqual(try numbers("SELF SEARCH 'adv* -text'", open), [3, 4])
    }
  }

  func testNilTextsAreNotFound() throws {
    let open = try makeStore(makeModel())
    try fill(open)
    XCTAssertEqual(try numbers("body SEARCH '-quick' AND number > 50", open), [])
    XCTAssertEqual(try numbers("NOT body SEARCH '-quick' AND number > 50", open), [100])
    XCTAssertEqual(try numbers("NOT body SEARCH 'quick' AND number > 50", open), [100])
    XCTAssertEqual(try numbers("body SEARCH NULL", open), [])
    XCTAssertEqual(try numbers("title SEARCH ''", open), [])
    XCTAssertEqual(try numbers("author.bio SEARCH '-quick'", open), [])
    XCTAssertEqual(try numbers("NOT author.bio SEARCH 'quick' AND number == 0", open), [0])
  }

  func testUpdatedTextsAreFound() throws {
    let open = try makeStore(makeModel())
    let ids = try open.save { save in
      try (0..<5).map { try save.insert("Document", ["number": .int(Int64($0)), "title": .text("first \($0)"), "body": .text("common")]) }
    }
    XCTAssertEqual(try numbers("title SEARCH 'first'", open), [0, 1, 2, 3, 4])
    try open.save { try $0.update(ids[1], ["title": .text("second")]) }
    try open.save { try $0.update(ids[2], ["title": .null]) }
    try open.save { try $0.update(ids[3], ["number": .int(30)]) }
    try open.save { try $0.delete(ids[4]) }
    XCTAssertEqual(try numbers("title SEARCH 'first'", open), [0, 30])
    XCTAssertEqual(try numbers("title SEARCH 'second'", open), [1])
    XCTAssertEqual(try numbers("body SEARCH 'common'", open), [0, 1, 2, 30])
    XCTAssertEqual(try numbers("title SEARCH '4'", open), [])
    try open.save { try $0.update(ids[2], ["title": .text("first again")]) }
    XCTAssertEqual(try numbers("SELF SEARCH 'first common'", open), [0, 2, 30])
    let folder = try makeFolder()
    let kept = try openStore(in: folder, makeModel())
    try fill(kept)
    try kept.close()
    let again = try openStore(in: folder, makeModel())
    if try again.count("Document") > 0 { XCTAssertEqual(try numbers("body SEARCH 'quick'", again), [0, 1, 2]) }
  }

  func testTextsWrittenByBatchRequestsAreFound() throws {
    let open = try makeStore(makeModel())
    let context = open.newContext()
    _ = try context.execute(
      BatchInsertRequest(
        entityName: "Document",
        objects: (0..<300).map { ["number": $0, "title": "batch \($0 % 3 == 0 ? "fizz" : "other")", "body": "text \($0)"] }))
    XCTAssertEqual(try numbers("title SEARCH 'fizz'", open).count, 100)
    _ = try context.execute(
      BatchUpdateRequest(
        entityName: "Document", predicate: try FetchPredicate(format: "title SEARCH 'fizz' AND number < 150"),
        propertiesToUpdate: ["title": "changed", "plain": "x"]))
    XCTAssertEqual(try numbers("title SEARCH 'fizz'", open).count, 50)
    XCTAssertEqual(try numbers("title SEARCH 'changed'", open).count, 50)
    XCTAssertEqual(try numbers("body SEARCH '6'", open), [6])
    _ = try context.execute(
      BatchDeleteRequest(entityName: "Document", predicate: try FetchPredicate(format: "SELF SEARCH 'changed OR batch -fizz'")))
    XCTAssertEqual(try open.count("Document"), 50)
    XCTAssertEqual(try numbers("title SEARCH 'b* OR c*'", open).count, 50)
    XCTAssertEqual(try numbers("body SEARCH 'text'", open).count, 50)
    _ = try context.execute(BatchDeleteRequest(entityName: "Document"))
    XCTAssertEqual(try numbers("body SEARCH 'text'", open), [])
  }

  func testSubentitiesHaveTheirOwnIndexes() throws {
    let open = try makeStore(makeModel())
    try open.save { save in
      try save.insert("Document", ["number": .int(1), "title": .text("Greetings")])
      try save.insert("Letter", ["number": .int(2), "title": .text("Greetings"), "recipient": .text("Ada Lovelace")])
      try save.insert("Postcard", ["number": .int(3), "title": .text("Sea"), "recipient": .text("Greetings Ada"), "motif": .text("sea")])
    }
    XCTAssertEqual(try numbers("title SEARCH 'greetings'", open), [1, 2])
    XCTAssertEqual(try numbers("title SEARCH 'greetings'", "Letter", open), [2])
    XCTAssertEqual(try numbers("recipient SEARCH 'ada'", "Letter", open), [2, 3])
    XCTAssertEqual(try numbers("recipient SEARCH 'ada'", "Postcard", open), [3])
    XCTAssertEqual(try numbers("{recipient, title} SEARCH 'greetings'", "Letter", open), [2, 3])
    XCTAssertEqual(try numbers("SELF SEARCH 'greetings'", "Letter", open), [2, 3])
    XCTAssertEqual(try numbers("SELF SEARCH 'greetings'", open), [1, 2])
    XCTAssertEqual(try numbers("SELF SEARCH 'ada sea'", "Postcard", open), [3])
    XCTAssertEqual(try numbers("motif SEARCH 'sea'", "Postcard", open), [3])
    var exact = FetchSpecification(entityName: "Letter", predicate: try FetchPredicate(format: "SELF SEARCH 'greetings'"))
    exact.includesSubentities = false
    XCTAssertEqual(try numbers(exact, open), [2])
  }

  func testKeyPathsCanBeSearched() throws {
    for isIndexed in [true, false] {
      let open = try makeStore(makeModel(indexed: isIndexed))
      try open.save { save in
        let poet = try save.insert("Author", ["name": .text("A"), "bio": .text("A poet of the sea")])
        let monk = try save.insert("Author", ["name": .text("B"), "bio": .text("A monk")])
        for number in 1...4 {
          let document = try save.insert(
            "Document",
            [
              "number": .int(Int64(number)), "body": .text("text \(number)"),
              "author": number < 4 ? (number == 3 ? monk : poet).slot : .null,
            ])
          var chapters: [ManagedObjectID] = []
          for part in 0..<number {
            chapters.append(
              try save.insert(
                "Chapter", ["text": .text(part % 2 == 0 ? "even chapter" : "odd chapter \(number)"), "document": document.slot]))
          }
          try save.change(document, "chapters", order: chapters)
        }
      }
      XCTAssertEqual(try numbers("author.bio SEARCH 'poet'", open), [1, 2])
      XCTAssertEqual(try numbers("author.bio SEARCH 'monk OR sea'", open), [1, 2, 3])
      XCTAssertEqual(try numbers("NOT author.bio SEARCH 'poet'", open), [3, 4])
      XCTAssertEqual(try numbers("{body, author.bio} SEARCH 'text sea'", open), [1, 2])
      XCTAssertEqual(try numbers("ANY chapters.text SEARCH 'odd'", open), [2, 3, 4])
      XCTAssertEqual(try numbers("ANY chapters.text SEARCH '\"chapter 3\" OR \"chapter 4\"'", open), [3, 4])
      XCTAssertEqual(try numbers("ALL chapters.text SEARCH 'even'", open), [1])
      XCTAssertEqual(try numbers("NONE chapters.text SEARCH 'odd'", open), [1])
      XCTAssertEqual(try numbers("NOT ANY chapters.text SEARCH 'odd'", open), [1])
      XCTAssertEqual(try numbers("ANY author.documents.chapters.text SEARCH '2'", open), [1, 2])
      XCTAssertEqual(try numbers("SUBQUERY(chapters, $c, $c.text SEARCH 'even').@count > 1", open), [3, 4])
      XCTAssertEqual(try numbers("chapters[0].text SEARCH 'even' AND chapters[LAST].text SEARCH 'odd'", open), [2, 4])
      XCTAssertEqual(try numbers("body SEARCH 'text' AND ANY chapters.text SEARCH 'odd' AND author.bio SEARCH 'poet'", open), [2])
      guard isIndexed else { continue }
      XCTAssertEqual(try numbers("ANY chapters SEARCH 'odd'", open), [2, 3, 4])
      XCTAssertEqual(try numbers("author SEARCH 'monk'", open), [3])
    }
  }

  func testResultsAreOrderedByRelevance() throws {
    for isIndexed in [true, false] {
      let open = try makeStore(makeModel(indexed: isIndexed))
      try open.save { save in
        try save.insert(
          "Document", ["number": .int(1), "title": .text("Dogs"), "body": .text("A long text about cats and a single fox at its end")])
        try save.insert("Document", ["number": .int(2), "title": .text("Foxes"), "body": .text("fox fox fox")])
        try save.insert("Document", ["number": .int(3), "title": .text("The fox"), "body": .text("a fox")])
        try save.insert("Document", ["number": .int(4), "body": .text("a fox")])
        try save.insert("Document", ["number": .int(5), "body": .text("nothing")])
      }
      var fetch = FetchSpecification(entityName: "Document", predicate: try FetchPredicate(format: "body SEARCH 'fox'"))
      fetch.sortDescriptors = [.relevance(of: "body", to: .word("fox"))]
      XCTAssertEqual(try numbers(fetch, open), [2, 3, 4, 1])
      fetch.fetchLimit = 2
      XCTAssertEqual(try numbers(fetch, open), [2, 3])
      fetch.fetchOffset = 1
      XCTAssertEqual(try numbers(fetch, open), [3, 4])
      fetch = FetchSpecification(entityName: "Document")
      fetch.sortDescriptors = [.relevance(of: "title", "body", to: .word("fox"))]
      XCTAssertEqual(try numbers(fetch, open), [3, 2, 4, 1, 5])
      fetch.sortDescriptors = [
        FetchSortDescriptor(expression: try FetchExpression(format: "relevance(body, 'fox')")),
        FetchSortDescriptor("number", ascending: false),
      ]
      XCTAssertEqual(try numbers(fetch, open), [5, 1, 4, 3, 2])
      XCTAssertEqual(try numbers("relevance(body, 'fox') > 0", open), [1, 2, 3, 4])
      fetch.propertiesToFetch = try FetchProperty.list(format: "number, relevance(body, 'fox') AS rank")
      let rank = try open.dictionaries(fetch).rows.map { $0[1] }
      XCTAssertEqual(rank.first, .real(0))
      guard isIndexed else { continue }
      fetch = FetchSpecification(entityName: "Document")
      fetch.sortDescriptors = [.relevance(of: "SELF", to: .word("fox"))]
      XCTAssertEqual(try numbers(fetch, open), [3, 2, 4, 1, 5])
    }
  }

  func testUnsavedChangesAreSearchedToo() throws {
    let open = try makeStore(makeModel())
    try fill(open)
    let context = open.newContext()
    func found(_ format: String) throws -> [Int64] {
      var request = FetchRequest<ManagedObject>(entityName: "Document", predicate: try FetchPredicate(format: format))
      request.sortDescriptors = [.relevance(of: "body", to: .word("quick")), FetchSortDescriptor("number")]
      return try context.fetch(request).compactMap { $0.integer("number") }
    }
    XCTAssertEqual(try found("body SEARCH 'quick'"), [1, 2, 0])
    let new = try context.insert("Document", ["number": Int64(50), "body": "quick quick"])
    XCTAssertEqual(try found("body SEARCH 'quick'"), [50, 1, 2, 0])
    XCTAssertEqual(try found("SELF SEARCH 'quick'"), [50, 1, 2, 0])
    let first = try XCTUnwrap(
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Document", predicate: .compare("number", .equal, 0))).first)
    try first.setValue("slow", forKey: "body")
    XCTAssertEqual(try found("body SEARCH 'quick'"), [50, 1, 2])
    XCTAssertEqual(try found("body SEARCH 'slow OR launch'"), [0, 8])
    context.delete(new)
    XCTAssertEqual(try found("body SEARCH 'quick'"), [1, 2])
    try context.save()
    XCTAssertEqual(try found("body SEARCH 'quick'"), [1, 2])
    XCTAssertEqual(try found("body SEARCH 'slow'"), [0])
    hold([new, first])
  }

  func testRandomQueriesReturnTheExpectedResults() throws {
    var random = SeededGenerator(seed: 4_711)
    let words = [
      "fox", "Fox", "FOXES", "dog", "dögs", "do", "straße", "strasse", "東京", "京", "タワー", "é", "e\u{301}", "x", "🚀", "don't", "न", "12", "1",
      "-", "…", "OR",
    ]
    func text() -> String {
      (0..<Int.random(in: 0...9, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }.joined(separator: " ")
    }
    func query(_ depth: Int) -> String {
      switch Int.random(in: 0..<(depth > 2 ? 4 : 8), using: &random) {
      case 0, 1: return words.randomElement(using: &random) ?? ""
      case 2: return (words.randomElement(using: &random) ?? "") + "*"
      case 3: return "\"" + text() + (Bool.random(using: &random) ? "*\"" : "\"")
      case 4: return "-(" + query(depth + 1) + ")"
      case 5: return "(" + query(depth + 1) + ") OR " + query(depth + 1)
      default: return query(depth + 1) + " " + query(depth + 1)
      }
    }
    let rows = (0..<60).map { number in
      (number, (0..<2).map { _ in Int.random(in: 0..<8, using: &random) == 0 ? nil : text() })
    }
    let open = try makeStore(makeModel())
    try open.save { save in
      for (number, texts) in rows {
        try save.insert(
          "Document",
          ["number": .int(Int64(number)), "title": texts[0].map { .text($0) } ?? .null, "body": texts[1].map { .text($0) } ?? .null])
      }
    }
    for _ in 0..<300 {
      let typed = query(0)
      let parsed = TextQuery(typed: typed)
      let single = rows.filter { row in row.1[1].map { parsed.matches($0) } ?? false }
      XCTAssertEqual(try search(.keyPath("body"), typed, open), single.map { Int64($0.0) }, "body \(typed)")
      let joint = rows.filter { row in
        // A word that no phrase contains separates the texts.
        let texts = row.1.compactMap { $0 }
        return !texts.isEmpty && parsed.matches(texts.joined(separator: " qqq "))
      }
      XCTAssertEqual(
        try search(.aggregate([.keyPath("title"), .keyPath("body")]), typed, open), joint.map { Int64($0.0) }, "both \(typed)")
      XCTAssertEqual(try search(.evaluatedObject, typed, open), joint.map { Int64($0.0) }, "SELF \(typed)")
      var fetch = FetchSpecification(entityName: "Document")
      fetch.sortDescriptors = [.relevance(of: "title", "body", to: parsed)]
      let ordered = rows.map { (TextRelevance.of(parsed, $0.1.compactMap { $0 }), Int64($0.0)) }.sorted {
        $0.0 != $1.0 ? $0.0 > $1.0 : $0.1 < $1.1
      }
      XCTAssertEqual(try numbers(fetch, open), ordered.map(\.1), "relevance to \(typed)")
    }
  }

  private func search(_ left: FetchExpression, _ query: String, _ open: OpenStore) throws -> [Int64] {
    var fetch = FetchSpecification(
      entityName: "Document", predicate: .comparison(FetchComparison(left: left, op: .search, right: .constant(.string(query)))))
    fetch.sortDescriptors = [FetchSortDescriptor("number")]
    return try numbers(fetch, open)
  }

  func testArbitraryUserInputNeverFails() throws {
    let open = try makeStore(makeModel())
    try fill(open)
    for typed in [
      "\"", "'", "*", "(", ")", "-", "--", "NEAR", "quick NEAR/2 fox", "body:quick", "^quick", "quick AND", "OR", "\0", "\\", "a\"b\"c",
      "' OR 1=1 --",
      "{", "}", "+", "%", "?1", String(repeating: "(", count: 5_000), String(repeating: "a ", count: 300),
      String(repeating: "x", count: 100_000),
    ] {
      let found = try search(.evaluatedObject, typed, open)
      let query = TextQuery(typed: typed)
      XCTAssertEqual(found, texts.indices.filter { query.matches(texts[$0]) }.map(Int64.init), String(typed.prefix(40)))
    }
    let many = (0..<400).map { "w\($0)" }.joined(separator: " ")
    XCTAssertEqual(try search(.keyPath("body"), many, open), [])
    XCTAssertEqual(try search(.keyPath("body"), many.replacingOccurrences(of: " ", with: " OR ") + " OR launch", open), [8])
  }

  func testInvalidSearchesThrow() throws {
    let open = try makeStore(makeModel())
    func assertError(_ format: String, _ entity: String = "Document", line: UInt = #line) {
      XCTAssertThrowsError(try numbers(format, entity, open), format, line: line) {
        XCTAssertTrue($0 is FetchPredicateError || $0 is PredicateFormatError, "\($0)", line: line)
      }
    }
    assertError("number SEARCH 'x'")
    assertError("body SEARCH 5")
    assertError("body SEARCH {'a', 'b'}")
    assertError("chapters.text SEARCH 'x'")
    assertError("ANY body SEARCH 'x'")
    assertError("SELF SEARCH 'x'", "Tag")
    assertError("ANY tags SEARCH 'x'")
    assertError("body SEARCH '\"x'")
    assertError("{body, number} SEARCH 'x'")
    assertError("{} SEARCH 'x'")
    assertError("relevance(number, 'x') > 0")
    assertError("relevance(body) > 0")
    assertError("nobody SEARCH 'x'")
  }

  func testFailedSaveLeavesTheFullTextIndexUnchanged() throws {
    let open = try makeStore(makeModel())
    try fill(open)
    let save = open.newSave()
    try save.insert("Document", ["number": .int(200), "body": .text("quick newcomer")])
    try save.insert("Document", ["number": .int(0), "body": .text("quick double")])
    XCTAssertThrowsError(try save.commit())
    XCTAssertEqual(try numbers("body SEARCH 'quick'", open), [0, 1, 2])
    XCTAssertEqual(try numbers("body SEARCH 'newcomer OR double'", open), [])
    try open.save { try $0.insert("Document", ["number": .int(200), "body": .text("quick newcomer")]) }
    XCTAssertEqual(try numbers("body SEARCH 'newcomer'", open), [200])
  }
}
