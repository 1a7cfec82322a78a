package cgibridge;

import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

// Loads the classes that the program's first class names, and those that these name, before the
// checkpoint: each request would read, check and link them again. None is initialized, so nothing
// of the program runs. Of the JDK's own, only those that the program names are loaded. Source for
// the format: "The Java Virtual Machine Specification", section 4.4.
final class Closure {
  private static final int CLASSES_MOST = 2000;
  private static final long NANOSECONDS_MOST = 3_000_000_000L;
  // In each folder of the class path a file of the class's name is looked for, and the bridge notes
  // so many bytes of such paths, to see when one appears or changes.
  private static final int PATH_BYTES_MOST = 24 << 10;

  private final ClassLoader loader;
  private final List<String> folders = new ArrayList<>();
  private int pathBytes;
  private final Deque<String> left = new ArrayDeque<>();
  private final Set<String> seen = new HashSet<>();

  private Closure(ClassLoader loader) {
    this.loader = loader;
    for (String path : System.getProperty("java.class.path", "").split(File.pathSeparator)) {
      if (new File(path.isEmpty() ? "." : path).isDirectory()) folders.add(path);
    }
  }

  private static void skip(DataInputStream bytes, int tag) throws IOException {
    switch (tag) {
      case 8: case 16: case 19: case 20:
        bytes.skipBytes(2);
        break;
      case 15:
        bytes.skipBytes(3);
        break;
      case 5: case 6:
        bytes.skipBytes(8);
        break;
      default:
        bytes.skipBytes(4);
    }
  }

  // The names of classes in a file's constants, with slashes; arrays begin with a bracket.
  private static List<String> named(DataInputStream bytes) throws IOException {
    bytes.skipBytes(8);
    int count = bytes.readUnsignedShort();
    String[] texts = new String[count];
    List<Integer> places = new ArrayList<>();
    for (int i = 1; i < count; ++i) {
      int tag = bytes.readUnsignedByte();
      if (tag == 1) {
        texts[i] = bytes.readUTF();
      } else if (tag == 7) {
        places.add(bytes.readUnsignedShort());
      } else {
        skip(bytes, tag);
        if (tag == 5 || tag == 6) ++i;
      }
    }
    List<String> names = new ArrayList<>();
    for (int place : places) names.add(texts[place]);
    return names;
  }

  private void follow(String name) throws IOException {
    try (InputStream file = loader.getResourceAsStream(name.replace('.', '/') + ".class")) {
      if (file == null) return;
      for (String other : named(new DataInputStream(file))) {
        if (!other.startsWith("[") && seen.add(other)) left.add(other.replace('/', '.'));
      }
    }
  }

  // To ask for its methods links it. What is missing, or broken, is the program's to find.
  private void load(String name) {
    for (String folder : folders) pathBytes += folder.length() + name.length() + ".class".length();
    try {
      Class<?> one = Class.forName(name, false, loader);
      one.getDeclaredMethods();
      ClassLoader its = one.getClassLoader();
      if (its != null && its != ClassLoader.getPlatformClassLoader()) follow(name);
    } catch (IOException | LinkageError | ReflectiveOperationException | RuntimeException error) {
      return;
    }
  }

  static void load(Class<?> first) {
    long begun = System.nanoTime();
    Closure closure = new Closure(first.getClassLoader());
    closure.load(first.getName());
    while (!closure.left.isEmpty() && closure.seen.size() < CLASSES_MOST && closure.pathBytes < PATH_BYTES_MOST
        && System.nanoTime() - begun < NANOSECONDS_MOST) {
      closure.load(closure.left.remove());
    }
  }
}
