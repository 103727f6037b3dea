/// The encoding in a record: the values before the mark that it has not seen as they are, by their properties; then the entries that are not
/// those of these values: property, twice the number of the stamp, plus 1 if it is fixed.
extension DeletionMark {
  func write(after fields: ArraySlice<Field>, _ stamps: [Stamp], to writer: inout WireWriter) {
    let implied = fields.filter { entries.contains(Entry($0.property, $0.stamp)) }
    let unseen = fields.filter { !entries.contains(Entry($0.property, $0.stamp)) }
    let others = entries.filter { entry in !implied.contains { Entry($0.property, $0.stamp) == entry } }
    writer.write(UInt64(unseen.count))
    for field in unseen { writer.writeFixed(field.property.value) }
    writer.write(UInt64(others.count))
    for entry in others {
      writer.writeFixed(entry.property.value)
      writer.write(UInt64(2 * (stamps.firstIndex(of: entry.stamp) ?? 0) + (entry.isFixed ? 1 : 0)))
    }
  }

  init(from reader: inout WireReader, after fields: [Field], _ stamps: [Stamp]) throws {
    var unseen: Set<PropertyID> = []
    for _ in 0..<(try reader.readCount()) { unseen.insert(PropertyID(try reader.readFixed())) }
    var entries = fields.filter { !unseen.contains($0.property) }.map { Entry($0.property, $0.stamp) }
    for _ in 0..<(try reader.readCount()) {
      let property = PropertyID(try reader.readFixed())
      let (number, flag) = try reader.readUnsigned().quotientAndRemainder(dividingBy: 2)
      guard number < stamps.count else { throw WireError.invalid }
      entries.append(Entry(property, stamps[Int(number)], isFixed: flag == 1))
    }
    self.init(entries)
  }
}
