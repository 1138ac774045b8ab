import { Monitor, Moon, Sun } from 'lucide-react';
import { useState } from 'react';
import { Segmented } from '../kit/segmented.tsx';
import { chooseTheme, storedTheme } from '../theme.ts';

const options = [
  { value: 'system', name: 'As the system', label: <Monitor aria-hidden className="size-4" /> },
  { value: 'light', name: 'Light', label: <Sun aria-hidden className="size-4" /> },
  { value: 'dark', name: 'Dark', label: <Moon aria-hidden className="size-4" /> },
] as const;

export function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme);
  return (
    <Segmented
      label="Colours"
      value={theme}
      options={options}
      onChange={(next) => {
        chooseTheme(next);
        setTheme(next);
      }}
      className="flex w-full"
    />
  );
}
