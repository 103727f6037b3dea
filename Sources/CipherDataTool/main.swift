// The command-line tool `cipherdata`; everything it does is in CipherDataToolKit.
import CipherDataToolKit
import Dispatch
import Foundation

// Must run before any file is opened.
Tool.keepStandardDescriptors()
if let status = Tool.statusWithoutText() { exit(status) }
// Before any blocking call: blocking requires file descriptors, and without them the process would exit without a message.
if let status = Tool.statusWithoutResources() { exit(status) }
Task.detached { exit(await Tool.run(Array(CommandLine.arguments.dropFirst()))) }
dispatchMain()
