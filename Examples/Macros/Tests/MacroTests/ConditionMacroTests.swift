import CipherData
import Foundation
import XCTest

/// The subject of a note.
enum Subject: Int16, Sendable, Codable {
  case work, garden
}

@Composite struct Spot {
  @Attribute var city: String
  @Attribute var floor: Int?
}

@Entity final class Note: ManagedObject {
  @Attribute var title: String
  @Attribute var body: String?
  @Attribute var isRead: Bool = false
  @Attribute var isPinned: Bool?
  @Attribute var stars: Int32 = 0
  @Attribute var rank: Double?
  @Attribute var written: Date?
  @Attribute var subject: Subject = .work
  @Attribute(.composite) var spot: Spot?
  @Attribute var colours: [String] = []
  @Relationship(inverse: \Folder.notes) var folder: Folder?
  @Relationship(inverse: \Label.notes) var labels: Set<Label>
  @Relationship(deleteRule: .cascade, inverse: \Page.note) var pages: [Page]
}

@Entity final class PinnedNote: SubNote {
  @Attribute var place: Int32 = 0
}

@Entity class SubNote: ManagedObject {
  @Attribute var text: String = ""
}

@Entity final class Folder: ManagedObject {
  @Attribute var name: String
  @Attribute var size: Int = 0
  @Relationship var notes: Set<Note>
}

@Entity final class Label: ManagedObject {
  @Attribute var name: String
  @Attribute var weight: Int32 = 0
  @Relationship var notes: Set<Note>
}

@Entity final class Page: ManagedObject {
  @Attribute var text: String
  @Relationship var note: Note?
}

/// `#FetchCondition` on properties equals a typed closure on key paths.
final class ConditionMacroTests: XCTestCase {
  private func check(
    _ condition: FetchCondition<Note>, _ format: String, _ arguments: (any FetchConstantConvertible)?..., line: UInt = #line
  ) {
    XCTAssertEqual(condition.predicate, try FetchPredicate(format: format, argumentArray: arguments), line: line)
  }

  func testComparisonsAndLogicalOperators() {
    check(#FetchCondition { $0.body == "x" }, "body == 'x'")
    check(#FetchCondition { $0.title != "a" && $0.stars > 3 }, "title != 'a' AND stars > 3")
    check(#FetchCondition { $0.stars < 3 || $0.stars >= 5 || $0.stars == 4 }, "stars < 3 OR stars >= 5 OR stars == 4")
    check(#FetchCondition { !($0.stars <= 3) && ($0.title == "a" || $0.title == "b") }, "NOT stars <= 3 AND (title == 'a' OR title == 'b')")
    check(#FetchCondition { 3 < $0.stars && "a" == $0.title }, "stars > 3 AND title == 'a'")
    check(#FetchCondition<Note> { (note: Note) in note.stars == 1 }, "stars == 1")
    check(#FetchCondition<Note> { note in return note.stars == 1 }, "stars == 1")
  }

  func testBooleansAndOptionals() {
    check(#FetchCondition { $0.isRead }, "isRead == YES")
    check(#FetchCondition { !$0.isRead && $0.isPinned == true }, "NOT isRead == YES AND isPinned == YES")
    check(#FetchCondition { $0.isPinned ?? false }, "coalesce(isPinned, NO) == YES")
    check(#FetchCondition { $0.body == nil || $0.written != nil }, "body == nil OR written != nil")
    check(#FetchCondition { ($0.rank ?? 1) > 0.5 && $0.rank! < 9.5 }, "coalesce(rank, 1) > 0.5 AND rank < 9.5")
    check(#FetchCondition { $0.subject == .garden && $0.subject.rawValue < 2 }, "subject == 1 AND subject < 2")
  }

  func testPathsAndObjects() throws {
    check(#FetchCondition { $0.folder?.name == "x" && $0.folder!.size > 2 }, "folder.name == 'x' AND folder.size > 2")
    check(#FetchCondition { $0.folder == nil }, "folder == nil")
    check(#FetchCondition { $0.spot?.city == "Bath" && ($0.spot?.floor ?? 0) == 2 }, "spot.city == 'Bath' AND coalesce(spot.floor, 0) == 2")
    check(#FetchCondition { $0.pages.first?.text == "a" && $0.pages[1].text == "b" }, "pages[FIRST].text == 'a' AND pages[1].text == 'b'")
    XCTAssertEqual(
      (#FetchCondition<SubNote> { $0 is PinnedNote && $0.text == "" }).predicate,
      FetchCondition<SubNote> { $0.is(PinnedNote.self) && $0[\.text] == "" }.predicate)
  }

  func testTextsNumbersAndDates() {
    check(
      #FetchCondition { $0.title.hasPrefix("a") && $0.title.starts(with: "b") && $0.title.hasSuffix("c") },
      "title BEGINSWITH 'a' AND title BEGINSWITH 'b' AND title ENDSWITH 'c'")
    check(#FetchCondition { $0.title.contains("a") && $0.title.lowercased() == "b" }, "title CONTAINS 'a' AND lowercase(title) == 'b'")
    check(#FetchCondition { $0.title.count > 3 && !$0.title.isEmpty }, "length(title) > 3 AND NOT title == ''")
    check(#FetchCondition { $0.stars * 2 + 1 > $0.stars - 3 && -$0.stars < 0 }, "stars * 2 + 1 > stars - 3 AND -stars < 0")
    check(#FetchCondition { 2 * $0.stars == 4 && $0.stars % 2 == 0 }, "stars * 2 == 4 AND modulus(stars, 2) == 0")
    let day = Date(timeIntervalSinceReferenceDate: 1_000)
    check(#FetchCondition { $0.written! > day }, "written > %@", day)
  }

  func testMembers() {
    check(#FetchCondition { $0.labels.contains { $0.name == "a" } }, "SUBQUERY(labels, $x1, $x1.name == 'a').@count > 0")
    check(
      #FetchCondition { note in note.labels.contains(where: { label in label.weight > note.stars && label.name == "b" }) },
      "SUBQUERY(labels, $x1, $x1.weight > stars AND $x1.name == 'b').@count > 0")
    check(#FetchCondition { $0.labels.allSatisfy { $0.weight > 1 } }, "SUBQUERY(labels, $x1, NOT $x1.weight > 1).@count == 0")
    check(#FetchCondition { $0.labels.filter { $0.weight > 1 }.count > 2 }, "SUBQUERY(labels, $x1, $x1.weight > 1).@count > 2")
    check(#FetchCondition { $0.labels.isEmpty || $0.pages.count > 3 }, "labels.@count == 0 OR pages.@count > 3")
    check(
      #FetchCondition { $0.labels.contains { $0.notes.contains { $0.title == "a" } } },
      "SUBQUERY(labels, $x1, SUBQUERY($x1.notes, $x2, $x2.title == 'a').@count > 0).@count > 0")
  }

  func testCapturedValues() {
    struct Wanted { var titles = ["a", "b"], least = 3 }
    let wanted = Wanted()
    let isAsked = true
    let number: Int32? = 4
    check(#FetchCondition { wanted.titles.contains($0.title) && $0.stars > Int32(wanted.least) }, "title IN {'a', 'b'} AND stars > 3")
    check(
      #FetchCondition { (1...5).contains($0.stars) && (1..<5).contains($0.stars) }, "stars BETWEEN {1, 5} AND (stars >= 1 AND stars < 5)")
    check(#FetchCondition { isAsked && $0.stars == number! * (2 + 1) }, "TRUEPREDICATE AND stars == 12")
    check(#FetchCondition { [Subject.work, .garden].contains($0.subject) }, "subject IN {0, 1}")
  }

  func testConditionsAreEvaluatedByTheStore() async throws {
    let container = try PersistentContainer(
      name: "Notes", managedObjectModel: ManagedObjectModel(Note.self), classes: ManagedObjectClasses(Note.self),
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    let folder = Folder(context: context)
    folder.name = "house"
    for number in 0..<10 {
      let note = Note(context: context)
      note.title = "note \(number)"
      note.isRead = number % 2 == 0
      note.stars = Int32(number)
      note.folder = number < 5 ? folder : nil
      let label = Label(context: context)
      label.name = "label \(number % 3)"
      note.labels = [label]
    }
    try context.save()
    let found = try context.fetch(
      Note.all.where(#FetchCondition { $0.isRead && $0.folder == folder && $0.stars > 1 }).sorted { $0[\.stars] })
    XCTAssertEqual(found.map(\.stars), [2, 4])
    let sorted = Note.all.sorted(by: \.folder?.name).sorted(by: \.subject).sorted(by: \.stars, order: .reverse)
    XCTAssertEqual(try context.fetch(sorted).map(\.stars), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    XCTAssertEqual(
      sorted.specification.sortDescriptors.map(\.expression), [.keyPath(["folder", "name"]), .keyPath(["subject"]), .keyPath(["stars"])])
    let asked = #FetchCondition<Note> { $0.labels.contains { $0.name == "label 1" } } && #FetchCondition { !$0.isRead }
    XCTAssertEqual(Set(try context.fetch(Note.all.where(asked)).map(\.stars)), [1, 7])
    XCTAssertEqual(try found.filtered(using: #FetchCondition { $0.stars == 4 }).map(\.title), ["note 4"])
  }
}
