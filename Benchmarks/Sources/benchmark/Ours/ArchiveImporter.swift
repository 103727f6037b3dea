import ArchiveClasses
import CipherData
import Foundation
import RawSQLCipher

/// W19: imports a package index as objects in one pass, in batches that fit into memory, and in one transaction.
@MainActor
struct ArchiveImporter {
  /// The number of packages held at once, with their related objects.
  private static let batch = 2_000
  /// Creates relations, in the order of the index's fields.
  private static let relations: [(ManagedObjectContext) -> PackageRelation] = [
    Dependency.init(context:), PreDependency.init(context:), Recommendation.init(context:), Suggestion.init(context:),
    Conflict.init(context:), Breakage.init(context:), Replacement.init(context:), Enhancement.init(context:), Provision.init(context:),
  ]
  let context: ManagedObjectContext
  private var sections: [String: ManagedObjectID] = [:]
  private var maintainers: [String: ManagedObjectID] = [:]
  private var tags: [String: ManagedObjectID] = [:]
  /// The objects for the names in this batch.
  private var batchSections: [String: Section] = [:]
  private var batchMaintainers: [String: Maintainer] = [:]
  private var batchTags: [String: Tag] = [:]

  init(context: ManagedObjectContext) { self.context = context }

  mutating func run(_ path: String) throws {
    var file = archive_file()
    archive_map(&file, path)
    defer { archive_unmap(&file) }
    var stanza = stanza()
    var count = 0
    try context.performTransaction {
      while archive_next_stanza(&file, &stanza) {
        insert(stanza)
        count += 1
        if count.isMultiple(of: Self.batch) { try endBatch() }
      }
      try endBatch()
    }
  }

  private mutating func endBatch() throws {
    try context.save()
    for (name, object) in batchSections { sections[name] = object.objectID }
    for (name, object) in batchMaintainers { maintainers[name] = object.objectID }
    for (name, object) in batchTags { tags[name] = object.objectID }
    (batchSections, batchMaintainers, batchTags) = ([:], [:], [:])
    context.reset()
  }

  private mutating func insert(_ stanza: stanza) {
    var stanza = stanza
    func field(_ field: archive_field) -> slice { stanza_field(&stanza, Int32(bitPattern: field.rawValue)) }
    let package = Package(context: context)
    package.name = Self.text(field(field_package))
    package.version = Self.text(field(field_version))
    package.architecture = Self.text(field(field_architecture))
    if let priority = Self.optionalText(field(field_priority)) { package.priority = priority }
    if field(field_essential).length == 3 { package.essential = true }
    if let size = Self.number(field(field_installed_size)) { package.installedSize = size }
    if let size = Self.number(field(field_size)) { package.downloadSize = size }
    if let summary = Self.optionalText(field(field_description)) { package.summary = summary }
    if let homepage = Self.optionalText(field(field_homepage)) { package.homepage = URL(string: homepage) }
    if let hash = Self.hash(field(field_sha256)) { package.sha256 = hash }
    if field(field_section).length > 0 { package.section = section(Self.text(field(field_section))) }
    if field(field_maintainer).length > 0 { package.maintainer = maintainer(field(field_maintainer)) }
    var rest = field(field_tag)
    var piece = slice()
    while slice_next(&rest, 0x2c, &piece) { package.addToTags(tag(Self.text(piece))) }
    for (number, make) in Self.relations.enumerated() {
      rest = field(archive_field(rawValue: field_depends.rawValue + UInt32(number)))
      while slice_next(&rest, 0x2c, &piece) { insertRelation(make(context), piece, package) }
    }
  }

  private func insertRelation(_ relation: PackageRelation, _ group: slice, _ package: Package) {
    relation.package = package
    var (rest, piece) = (group, slice())
    while slice_next(&rest, 0x7c, &piece) {
      var (name, comparison, version) = (slice(), slice(), slice())
      archive_read_alternative(piece, &name, &comparison, &version)
      let alternative = Alternative(context: context)
      alternative.packageName = Self.text(name)
      if let comparison = Self.optionalText(comparison) { alternative.comparison = comparison }
      if let version = Self.optionalText(version) { alternative.version = version }
      relation.addToAlternatives(alternative)
    }
  }

  // MARK: Objects identified by a name

  private mutating func section(_ name: String) -> Section {
    if let known = batchSections[name] { return known }
    if let id = sections[name], let object = context.object(with: id) as? Section {
      batchSections[name] = object
      return object
    }
    let made = Section(context: context)
    made.name = name
    batchSections[name] = made
    return made
  }

  private mutating func maintainer(_ text: slice) -> Maintainer {
    var (name, address) = (slice(), slice())
    archive_read_maintainer(text, &name, &address)
    let email = Self.text(address)
    if let known = batchMaintainers[email] { return known }
    if let id = maintainers[email], let object = context.object(with: id) as? Maintainer {
      batchMaintainers[email] = object
      return object
    }
    let made = Maintainer(context: context)
    made.email = email
    if let name = Self.optionalText(name) { made.name = name }
    batchMaintainers[email] = made
    return made
  }

  private mutating func tag(_ name: String) -> Tag {
    if let known = batchTags[name] { return known }
    if let id = tags[name], let object = context.object(with: id) as? Tag {
      batchTags[name] = object
      return object
    }
    let made = Tag(context: context)
    made.name = name
    batchTags[name] = made
    return made
  }

  // MARK: Values

  private static func buffer(_ slice: slice) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: slice.bytes, count: slice.length)
  }

  private static func text(_ slice: slice) -> String { String(decoding: buffer(slice), as: UTF8.self) }

  private static func optionalText(_ slice: slice) -> String? { slice.bytes == nil ? nil : text(slice) }

  private static func number(_ slice: slice) -> Int64? {
    guard slice.bytes != nil else { return nil }
    var value: Int64 = 0
    for byte in buffer(slice) {
      guard byte >= 0x30, byte <= 0x39 else { break }
      value = value * 10 + Int64(byte - 0x30)
    }
    return value
  }

  private static func hash(_ slice: slice) -> Data? {
    guard slice.length == 64 else { return nil }
    func digit(_ byte: UInt8) -> UInt8 { byte <= 0x39 ? byte - 0x30 : (byte | 32) - 0x61 + 10 }
    let bytes = buffer(slice)
    return Data((0..<32).map { digit(bytes[2 * $0]) << 4 | digit(bytes[2 * $0 + 1]) })
  }
}
