import ObjectModel
import ObjectStore
import SQLCipherConnection

extension SaveExecutor {
  /// Binds the value of a binary attribute: its number if it is stored in a file, else its bytes.
  func bindLarge(_ step: BindStep, _ row: RowImage, at index: inout Int32, to statement: Statement) throws {
    let external = row.external(step.slot)
    guard let storage = engine.externals, let files, step.keepsExternals else {
      guard let external else { return try step.bind(row, at: &index, to: statement) }
      index += 1
      return try bindInside(external, index, to: statement)
    }
    if external == nil, row.bytes(step.slot).count < storage.threshold { return try step.bind(row, at: &index, to: statement) }
    index += 1
    if let known = externals?.id(of: row, step.slot) { return try statement.bind(index, known) }
    let id: Int64
    if let external {
      let place = StoredLargeValue.Place(object: row.reference, slot: step.slot)
      let isOwn = (external.content as? StoredLargeValue).map { $0.storage === storage && $0.place == place } ?? false
      if !isOwn, try external.count < storage.threshold { return try bindInside(external, index, to: statement) }
      id = try files.keep(external, at: place, in: storage)
    } else {
      id = try files.keep(row.bytes(step.slot))
    }
    externals?.record(id, of: row, step.slot)
    try statement.bind(index, id)
  }

  /// Binds all bytes of a value that is stored in the row from now on. The value no longer refers to its former content.
  private func bindInside(_ value: ExternalData, _ index: Int32, to statement: Statement) throws {
    let data = try value.data()
    try statement.bind(index, data)
    value.replaceContent(ExternalBytes(data))
  }
}
